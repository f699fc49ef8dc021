# SPDX-License-Identifier: MIT
# Included by bench/boards/measure.cmake: the echo over builds of Tenon, of lwIP, and of smoltcp with
# -DSMOLTCP_LIBRARY=FILE, what cargo has made of smoltcp/. The target echoes makes all of them.
# A driver without DMA fills one block at a time, and its device has all of a frame when transmit() returns; that of the
# ColdFire keeps 32 blocks for its device.
set(ECHO_BLOCKS 8 CACHE STRING "receive blocks of the echoes")
set(ECHO_HEAP 8 CACHE STRING "segments for which lwIP's heap has room, or the rings of Tenon's clients together")
set(blocks ECHO_BLOCKS=${ECHO_BLOCKS} ECHO_BLOCK_BYTES=1528)
set(glue lwip_fifo.c)
if(count STREQUAL count_coldfire.c)
    set(blocks ECHO_BLOCKS=40 ECHO_BLOCK_BYTES=2048)
    set(glue lwip_dma.c)
endif()
add_library(echo_board OBJECT EXCLUDE_FROM_ALL ${boards}/common/text.c ${boards}/common/ram.c
    ${boards}/common/memory.c ${BOARD_SOURCES} ${here}/echo/main.c)
target_compile_options(echo_board PRIVATE -std=gnu11)
target_compile_definitions(echo_board PRIVATE TENON_ASSERT_LEVEL=0 ${blocks})
target_include_directories(echo_board PUBLIC ${boards}/${BOARD})
add_custom_target(echoes)

function(add_echo name stack)
    list(TRANSFORM ARGN PREPEND ${here}/echo/)
    add_executable(echo-${name} EXCLUDE_FROM_ALL ${ARGN})
    target_compile_options(echo-${name} PRIVATE -std=gnu11)
    target_link_libraries(echo-${name} PRIVATE echo_board ${stack} gcc)
    target_link_options(echo-${name} PRIVATE ${BOARD_FLAGS} ${BOARD_LINK_FLAGS} -nostdlib -static
        LINKER:--gc-sections,--fatal-warnings -L${boards}/common -T${script})
    set_target_properties(echo-${name} PROPERTIES SUFFIX .elf LINK_DEPENDS
        "${script};${boards}/common/cortex_m.ld")
    add_dependencies(echoes echo-${name})
endfunction()

# Tenon without what lwIP has not either, as docs/performance-embedded.md goes through it, and with everything.
set(without_tenon4-all IPV6 MULTICAST IGMP)
set(without_tenon46-all)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tenon}/tests/trim/combinations)
file(STRINGS ${tenon}/tests/trim/combinations combinations REGEX "^echo")
foreach(line IN LISTS combinations)
    string(REGEX REPLACE " +" ";" words ${line})
    list(POP_FRONT words name)
    string(REPLACE echo6 echo46 name ${name})
    string(REGEX REPLACE "^echo$" echo4 name ${name})
    string(REPLACE echo tenon name ${name})
    set(without_${name} ${words})
endforeach()
set(without_like ${without_tenon4})    # of it instructions are counted, with a peer of the same build, who connects
list(REMOVE_ITEM without_like CONNECT)
foreach(name like tenon4 tenon4-all tenon46 tenon46-all)
    set(definitions TENON_ASSERT_LEVEL=0)
    foreach(switch IN LISTS without_${name})
        list(APPEND definitions TENON_WITH_${switch}=0)
    endforeach()
    add_library(stack-${name} STATIC EXCLUDE_FROM_ALL ${tenon}/src/tenon_all.c ${embedded})
    target_compile_options(stack-${name} PRIVATE -std=c89)
    target_include_directories(stack-${name} PRIVATE ${tenon}/src)
    target_compile_definitions(stack-${name} PUBLIC ${definitions})
endforeach()
foreach(name tenon4 tenon4-all tenon46 tenon46-all)
    add_echo(${name} stack-${name} tenon_calls.c tenon.c)
    string(FIND ${name} -all all)
    target_compile_definitions(echo-${name} PRIVATE ECHO_LIKE=$<EQUAL:${all},-1> ${blocks}
        ECHO_HEAP=${ECHO_HEAP})
endforeach()

foreach(name tenon4 tenon46)    # of embedded/ what the program calls is linked, and nothing with the core alone
    add_echo(${name}-back stack-${name} tenon_calls.c tenon_back.c)
    target_compile_definitions(echo-${name}-back PRIVATE ECHO_LIKE=1 ${blocks})
    add_echo(${name}-core stack-${name} tenon_core.c)
    target_compile_definitions(echo-${name}-core PRIVATE ${blocks})
endforeach()

if(LWIP_SOURCE)
    # The program over the raw interface is called back; netconns and sockets want an operating system below them.
    set(program_lwip4 lwip.c)
    set(program_lwip4-nocopy lwip.c)
    set(program_lwip46 lwip.c)
    set(program_lwip4-netconn lwip_netconn.c lwip_os.c)
    set(program_lwip4-sockets lwip_sockets.c lwip_os.c)
    set(lwip_api api_lib api_msg err netbuf sockets tcpip)
    list(TRANSFORM lwip_api REPLACE "(.+)" "${LWIP_SOURCE}/api/\\1.c")
    foreach(name lwip4 lwip4-nocopy lwip46 lwip4-netconn lwip4-sockets)
        string(FIND "${program_${name}}" lwip_os.c os)
        string(FIND ${name} sockets sockets)
        add_library(stack-${name} STATIC EXCLUDE_FROM_ALL ${lwip_sources} ${lwip_api})
        target_compile_options(stack-${name} PRIVATE -std=gnu11 -w)
        target_include_directories(stack-${name} PUBLIC ${here}/echo/lwip ${here}/lwip ${here}/lwip/libc)
        target_include_directories(stack-${name} SYSTEM PUBLIC ${LWIP_SOURCE}/include)
        target_compile_definitions(stack-${name} PUBLIC ECHO_IPV6=$<STREQUAL:${name},lwip46>
            ECHO_NETCONN=$<NOT:$<EQUAL:${os},-1>> ECHO_SOCKET=$<NOT:$<EQUAL:${sockets},-1>> ${blocks}
            ECHO_HEAP=${ECHO_HEAP} ECHO_COPY=$<NOT:$<STREQUAL:${name},lwip4-nocopy>>
            ECHO_ETH_PAD=$<IF:$<STREQUAL:${glue},lwip_dma.c>,0,2>)
        add_echo(${name} stack-${name} lwip_stack.c ${program_${name}} ${glue})
    endforeach()
endif()

if(SMOLTCP_LIBRARY)
    add_library(stack-smoltcp4 STATIC IMPORTED)
    set_target_properties(stack-smoltcp4 PROPERTIES IMPORTED_LOCATION ${SMOLTCP_LIBRARY})
    add_echo(smoltcp4 stack-smoltcp4 smoltcp.c)
    target_compile_definitions(echo-smoltcp4 PRIVATE ${blocks})
    target_link_options(echo-smoltcp4 PRIVATE LINKER:--no-warn-execstack)    # its objects say nothing of the stack
endif()
