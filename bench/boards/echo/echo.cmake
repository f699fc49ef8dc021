# SPDX-License-Identifier: MIT
# Included by bench/boards/measure.cmake: the echo over builds of Tenon and of lwIP, for boards whose driver moves the
# bytes itself. The target echoes makes all of them.
add_library(echo_board OBJECT EXCLUDE_FROM_ALL ${boards}/common/text.c ${boards}/common/ram.c
    ${boards}/common/memory.c ${BOARD_SOURCES} ${here}/echo/main.c)
target_compile_options(echo_board PRIVATE -std=gnu11)
target_compile_definitions(echo_board PRIVATE TENON_ASSERT_LEVEL=0)
target_include_directories(echo_board PUBLIC ${boards}/${BOARD})
add_custom_target(echoes)

function(add_echo name source stack)
    add_executable(echo-${name} EXCLUDE_FROM_ALL ${here}/echo/${source})
    target_compile_options(echo-${name} PRIVATE -std=gnu11)
    target_link_libraries(echo-${name} PRIVATE echo_board ${stack} gcc)
    target_link_options(echo-${name} PRIVATE ${BOARD_FLAGS} ${BOARD_LINK_FLAGS} -nostdlib -static
        LINKER:--gc-sections,--fatal-warnings -L${boards}/common -T${script})
    set_target_properties(echo-${name} PROPERTIES SUFFIX .elf LINK_DEPENDS
        "${script};${boards}/common/cortex_m.ld")
    add_dependencies(echoes echo-${name})
endfunction()

# Of Tenon: without most of what lwIP has not either, and all of it. docs/guide/small.md tells the switches; core there
# goes without more: what is sent from where it lies needs PIECES.
set(less FRAGMENTS PATH_MTU COOKIES RECOVERY SPEED STATS MANY WATCH)
set(without_tenon4 IPV6 MULTICAST ROUTES CONFLICTS ${less})
set(without_tenon4-all IPV6 MULTICAST)
set(without_tenon46 ${less})
set(without_tenon46-all)
foreach(name tenon4 tenon4-all tenon46 tenon46-all)
    set(definitions TENON_ASSERT_LEVEL=0)
    foreach(switch IN LISTS without_${name})
        list(APPEND definitions TENON_WITH_${switch}=0)
    endforeach()
    add_library(stack-${name} STATIC EXCLUDE_FROM_ALL ${tenon}/src/tenon_all.c ${embedded})
    target_compile_options(stack-${name} PRIVATE -std=c89)
    target_include_directories(stack-${name} PRIVATE ${tenon}/src)
    target_compile_definitions(stack-${name} PUBLIC ${definitions})
    add_echo(${name} tenon.c stack-${name})
endforeach()

if(LWIP_SOURCE)
    foreach(version 4 46)
        add_library(stack-lwip${version} STATIC EXCLUDE_FROM_ALL ${lwip_sources})
        target_compile_options(stack-lwip${version} PRIVATE -std=gnu11 -w)
        target_include_directories(stack-lwip${version} PUBLIC ${here}/echo/lwip ${here}/lwip ${here}/lwip/libc)
        target_include_directories(stack-lwip${version} SYSTEM PUBLIC ${LWIP_SOURCE}/include)
        target_compile_definitions(stack-lwip${version} PUBLIC ECHO_IPV6=$<STREQUAL:${version},46>)
        add_echo(lwip${version} lwip.c stack-lwip${version})
    endforeach()
endif()
