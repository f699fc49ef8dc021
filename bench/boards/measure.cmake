# SPDX-License-Identifier: MIT
# Included by ports/boards/CMakeLists.txt with -DBOARD_MEASURE=ON: the targets measure-tenon, measure-driver, and
# measure-lwip with -DLWIP_SOURCE=FOLDER, where its sources are. bench/boards/run does that.
set(boards ${tenon}/ports/boards)
set(here ${tenon}/bench/boards)
set(count count_coldfire.c)
if(${boards}/common/cortex_m.c IN_LIST BOARD_SOURCES)
    set(count count_cortex_m.c)
endif()
add_library(measure OBJECT EXCLUDE_FROM_ALL ${boards}/common/text.c ${boards}/common/ram.c ${boards}/common/memory.c
    ${BOARD_SOURCES} ${here}/main.c ${here}/peer.c ${here}/${count})
target_compile_options(measure PRIVATE -std=gnu11)
target_include_directories(measure PUBLIC ${boards}/${BOARD})

set(subjects tenon driver)
if(LWIP_SOURCE)
    # Compiled as everything else is, but for the warnings that it was not written for.
    file(GLOB lwip_sources ${LWIP_SOURCE}/core/*.c ${LWIP_SOURCE}/core/ipv4/*.c ${LWIP_SOURCE}/core/ipv6/*.c
        ${LWIP_SOURCE}/netif/ethernet.c)
    add_library(lwip STATIC EXCLUDE_FROM_ALL ${lwip_sources})
    target_compile_options(lwip PRIVATE -std=gnu11 -w)
    target_include_directories(lwip PUBLIC ${here}/lwip ${here}/lwip/libc)
    target_include_directories(lwip SYSTEM PUBLIC ${LWIP_SOURCE}/include)
    list(APPEND subjects lwip)
endif()
foreach(subject IN LISTS subjects)
    string(REPLACE driver tenon source ${subject})
    add_executable(measure-${subject} EXCLUDE_FROM_ALL ${here}/${source}.c)
    target_compile_definitions(measure-${subject} PRIVATE MEASURE_DRIVER=$<STREQUAL:${subject},driver>)
    target_compile_options(measure-${subject} PRIVATE -std=gnu11)
    if(subject STREQUAL lwip)
        target_link_libraries(measure-${subject} PRIVATE lwip)
    endif()
    target_link_libraries(measure-${subject} PRIVATE measure tenon gcc)
    target_link_options(measure-${subject} PRIVATE ${BOARD_FLAGS} ${BOARD_LINK_FLAGS} -nostdlib -static
        LINKER:--gc-sections,--fatal-warnings -L${boards}/common -T${script})
    set_target_properties(measure-${subject} PROPERTIES SUFFIX .elf LINK_DEPENDS
        "${script};${boards}/common/cortex_m.ld")
endforeach()

if(count STREQUAL count_cortex_m.c)
    include(${here}/echo/echo.cmake)
endif()
