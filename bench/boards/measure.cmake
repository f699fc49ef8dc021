# SPDX-License-Identifier: MIT
# Included by ports/boards/CMakeLists.txt with -DBOARD_MEASURE=ON: the targets measure-tenon, measure-driver,
# measure-like, and measure-lwip with -DLWIP_SOURCE=FOLDER, where its sources are. bench/boards/run does that.
set(boards ${tenon}/ports/boards)
set(here ${tenon}/bench/boards)
set(count count_coldfire.c)
if(${boards}/common/cortex_m.c IN_LIST BOARD_SOURCES)
    set(count count_cortex_m.c)
endif()
# The peer is of Tenon too: it comes with each build of it.
foreach(name measure measure_like)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${boards}/common/text.c ${boards}/common/ram.c
        ${boards}/common/memory.c ${boards}/common/sum.c ${BOARD_SOURCES}
        ${here}/main.c ${here}/peer.c ${here}/${count})
    target_compile_options(${name} PRIVATE -std=gnu11)
    target_include_directories(${name} PUBLIC ${boards}/${BOARD})
endforeach()

function(add_measured name source)
    add_executable(measure-${name} EXCLUDE_FROM_ALL ${here}/${source})
    target_compile_definitions(measure-${name} PRIVATE MEASURE_DRIVER=$<STREQUAL:${name},driver>)
    target_compile_options(measure-${name} PRIVATE -std=gnu11)
    target_link_libraries(measure-${name} PRIVATE ${ARGN} gcc)
    target_link_options(measure-${name} PRIVATE ${BOARD_FLAGS} ${BOARD_LINK_FLAGS} -nostdlib -static
        LINKER:--gc-sections,--fatal-warnings -L${boards}/common -T${script})
    set_target_properties(measure-${name} PROPERTIES SUFFIX .elf LINK_DEPENDS
        "${script};${boards}/common/cortex_m.ld")
endfunction()

add_measured(tenon tenon.c measure tenon)
add_measured(driver tenon.c measure tenon)
if(LWIP_SOURCE)
    # Compiled as everything else is, but for the warnings that it was not written for.
    file(GLOB lwip_sources ${LWIP_SOURCE}/core/*.c ${LWIP_SOURCE}/core/ipv4/*.c ${LWIP_SOURCE}/core/ipv6/*.c
        ${LWIP_SOURCE}/netif/ethernet.c)
    add_library(lwip STATIC EXCLUDE_FROM_ALL ${lwip_sources})
    target_compile_options(lwip PRIVATE -std=gnu11 -w)
    target_include_directories(lwip PUBLIC ${here}/lwip ${here}/lwip/libc)
    target_include_directories(lwip SYSTEM PUBLIC ${LWIP_SOURCE}/include)
    add_measured(lwip lwip.c measure lwip tenon)
endif()

include(${here}/echo/echo.cmake)
target_link_libraries(measure_like PRIVATE stack-like)
add_measured(like tenon.c measure_like stack-like)
