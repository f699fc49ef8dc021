# SPDX-License-Identifier: MIT
# One folder, one library: tenon_port_wire, tenon_port_tap, and so on. A port is linked before
# the core that it calls.

set(TENON_PORT_TARGETS "")
set(TENON_PORTS_LINUX tap packet xdp)
foreach(port IN ITEMS tap packet xdp wire pcap common)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ports/${port}/*.c)
    if(NOT sources OR (port IN_LIST TENON_PORTS_LINUX AND NOT CMAKE_SYSTEM_NAME STREQUAL "Linux"))
        continue()
    endif()
    add_library(tenon_port_${port} STATIC ${sources})
    # From outside "ports/wire/wire.h": src/ has a wire/wire.h too.
    target_include_directories(tenon_port_${port} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(tenon_port_${port} PUBLIC tenon_headers)
    tenon_host_flags(tenon_port_${port})
    list(APPEND TENON_PORT_TARGETS tenon_port_${port})
endforeach()

# What ports may use of each other: the buffer pool, and the capture at the frame boundary.
foreach(port IN ITEMS tap packet xdp wire pcap)
    if(TARGET tenon_port_${port} AND TARGET tenon_port_common)
        target_link_libraries(tenon_port_${port} PUBLIC tenon_port_common)
    endif()
    if(TARGET tenon_port_${port} AND TARGET tenon_port_pcap AND NOT port STREQUAL "pcap")
        target_link_libraries(tenon_port_${port} PUBLIC tenon_port_pcap)
    endif()
endforeach()
