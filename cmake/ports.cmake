# SPDX-License-Identifier: MIT
# One folder, one library: tenon_port_wire, tenon_port_tap, and so on. A port is linked before
# the core that it calls.
#
# A new kind is a word in TENON_PORT_KINDS, and one in TENON_PORTS_LINUX if it is for Linux only.

set(TENON_PORT_KINDS tap packet xdp dpdk dgram null)
set(TENON_PORTS_LINUX tap packet xdp dpdk dgram null)

set(TENON_PORT_TARGETS "")
# What a port needs and a system may lack.
set(TENON_DPDK AUTO CACHE STRING "Build the port dpdk: ON, OFF, or AUTO: where libdpdk 22.11 or later is found")
set_property(CACHE TENON_DPDK PROPERTY STRINGS AUTO ON OFF)
find_package(PkgConfig QUIET)
if(TENON_DPDK AND PkgConfig_FOUND AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    pkg_check_modules(LIBDPDK QUIET IMPORTED_TARGET "libdpdk>=22.11")
endif()
if(TENON_DPDK AND NOT TENON_DPDK STREQUAL "AUTO" AND NOT TARGET PkgConfig::LIBDPDK)
    message(FATAL_ERROR "TENON_DPDK=${TENON_DPDK}: the port dpdk needs Linux, pkg-config and libdpdk 22.11 or later "
        "(libdpdk-dev); OFF leaves it out")
endif()
foreach(port IN LISTS TENON_PORT_KINDS ITEMS wire pcap common)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ports/${port}/*.c)
    if(NOT sources OR (port IN_LIST TENON_PORTS_LINUX AND NOT CMAKE_SYSTEM_NAME STREQUAL "Linux"))
        continue()
    endif()
    if(port STREQUAL "dpdk" AND NOT TARGET PkgConfig::LIBDPDK)
        message(STATUS "The port dpdk is left out: TENON_DPDK is ${TENON_DPDK}, and it needs libdpdk 22.11 or later "
            "(libdpdk-dev)")
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
foreach(port IN LISTS TENON_PORT_KINDS ITEMS wire pcap)
    if(TARGET tenon_port_${port} AND TARGET tenon_port_common)
        target_link_libraries(tenon_port_${port} PUBLIC tenon_port_common)
    endif()
    if(TARGET tenon_port_${port} AND TARGET tenon_port_pcap AND NOT port STREQUAL "pcap")
        target_link_libraries(tenon_port_${port} PUBLIC tenon_port_pcap)
    endif()
endforeach()

# Its headers use words of GNU C. (The flags of libdpdk.pc are for this target only.)
if(TARGET tenon_port_dpdk)
    target_link_libraries(tenon_port_dpdk PRIVATE PkgConfig::LIBDPDK)
    set_target_properties(tenon_port_dpdk PROPERTIES C_EXTENSIONS ON)
    # Two joined devices, for its tests and for benchmarks.
    add_library(tenon_dpdk_cable STATIC ${PROJECT_SOURCE_DIR}/ports/dpdk/cable/cable.c)
    target_link_libraries(tenon_dpdk_cable PRIVATE tenon_port_dpdk PkgConfig::LIBDPDK rte_net_ring)
    set_target_properties(tenon_dpdk_cable PROPERTIES C_EXTENSIONS ON)
    tenon_host_flags(tenon_dpdk_cable)
endif()

# Tables of kinds that programs can be told of, ports/common/built.h: those of this build, and those without DPDK.
function(tenon_ports_table file)
    set(built_headers "")
    set(built_types "")
    foreach(port IN LISTS ARGN)
        if(TARGET tenon_port_${port})
            string(APPEND built_headers "#include \"ports/${port}/${port}.h\"\n")
            string(APPEND built_types "    &${port}_port_type,\n")
        endif()
    endforeach()
    file(CONFIGURE OUTPUT ${file} CONTENT [[
#include "ports/common/built.h"
@built_headers@
const struct port_type *const ports_built[] = {
@built_types@    NULL
};
]] @ONLY)
endfunction()

tenon_ports_table(${PROJECT_BINARY_DIR}/ports_built.c ${TENON_PORT_KINDS})
add_library(tenon_ports_built STATIC ${PROJECT_BINARY_DIR}/ports_built.c)
target_link_libraries(tenon_ports_built PUBLIC ${TENON_PORT_TARGETS})
tenon_host_flags(tenon_ports_built)

# Kinds of port that make a cable by themselves: bench/speed/ports.h.
set(cables_declared "")
set(cables "")
if(TARGET tenon_dpdk_cable)
    set(cables_declared "#include \"ports/dpdk/cable/cable.h\"")
    set(cables "    { \"dpdk\", dpdk_cable, \"net_ring_\" },")
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/speed_cables.c CONTENT [[
#include "bench/speed/ports.h"
@cables_declared@
const struct speed_cable speed_cables[] = {
@cables@
    { NULL, NULL, NULL },
};
]] @ONLY)

# All of them in one library, for users of an installation: Tenon::tenon_ports. DPDK's port is left to those who link
# DPDK.
set(installed ${TENON_PORT_KINDS})
list(REMOVE_ITEM installed dpdk)
tenon_ports_table(${PROJECT_BINARY_DIR}/ports_installed.c ${installed})
set(sources ${PROJECT_BINARY_DIR}/ports_installed.c)
set(headers "")
foreach(name IN ITEMS built hostsum port sharedbuf steer)
    list(APPEND headers ports/common/${name}.h)
endforeach()
foreach(port IN LISTS installed ITEMS wire pcap common)
    if(TARGET tenon_port_${port})
        list(APPEND sources $<TARGET_OBJECTS:tenon_port_${port}>)
        if(NOT port STREQUAL "common")
            list(APPEND headers ports/${port}/${port}.h)
        endif()
    endif()
endforeach()
find_package(Threads REQUIRED)
tenon_upper_library(tenon_ports "${headers}" ${sources})
target_link_libraries(tenon_ports PUBLIC Threads::Threads)
set_target_properties(tenon_ports PROPERTIES TENON_LINKS -pthread)
tenon_host_flags(tenon_ports)
