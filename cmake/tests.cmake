# SPDX-License-Identifier: MIT
# ctest runs: unit.* (one program each), script.* (one folder of packet scripts each), sim, fuzz.* (a corpus each).

set(ports ${TENON_PORT_TARGETS})
find_package(Threads REQUIRED)

# A test program: `name`, where it lies in the build folder, its sources.
function(tenon_test_program target folder name)
    add_executable(${target} ${ARGN})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/unit)
    target_link_libraries(${target} PRIVATE tenon_services ${ports} tenon_sock tenon_objs Threads::Threads)
    tenon_test_flags(${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${folder})
endfunction()

file(GLOB_RECURSE units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/*.c)
if(TENON_HAS_CXX)
    file(GLOB cpp_units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/cpp/*.cpp)
    list(APPEND units ${cpp_units})
endif()
foreach(source IN LISTS units)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests/unit OUTPUT_VARIABLE path)
    cmake_path(REMOVE_EXTENSION path)
    string(REPLACE "/" "." name ${path})
    tenon_test_program(unit.${name} ${PROJECT_BINARY_DIR}/tests/unit ${name} ${source})
    add_test(NAME unit.${name} COMMAND unit.${name})
    set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()

# Ports have their tests beside them: ports/NAME/test/*.c.
foreach(port IN LISTS ports)
    string(REPLACE tenon_port_ "" name ${port})
    file(GLOB units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ports/${name}/test/*.c)
    foreach(source IN LISTS units)
        cmake_path(GET source STEM stem)
        tenon_test_program(unit.port.${stem} ${PROJECT_BINARY_DIR}/tests/unit port.${stem} ${source})
        if(name STREQUAL "dpdk")
            target_link_libraries(unit.port.${stem} PRIVATE tenon_dpdk_cable)
        endif()
        add_test(NAME unit.port.${stem} COMMAND unit.port.${stem})
        set_tests_properties(unit.port.${stem} PROPERTIES LABELS unit TIMEOUT 300)
    endforeach()
endforeach()

# The layer of threads beside the ports: models/test/*.c.
if(TARGET tenon_models)
    file(GLOB units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/test/*_test.c)
    foreach(source IN LISTS units)
        cmake_path(GET source STEM stem)
        tenon_test_program(unit.models.${stem} ${PROJECT_BINARY_DIR}/tests/unit models.${stem} ${source}
            ${PROJECT_SOURCE_DIR}/models/test/world.c ${PROJECT_SOURCE_DIR}/models/test/app.c
            ${PROJECT_SOURCE_DIR}/models/test/history.c)
        target_link_libraries(unit.models.${stem} PRIVATE tenon_models ${ports} tenon_objs)
        add_test(NAME unit.models.${stem} COMMAND unit.models.${stem})
        set_tests_properties(unit.models.${stem} PROPERTIES LABELS unit TIMEOUT 300)
    endforeach()
endif()

# What every port has to be able to do: tests/interop/test_port_conformance.py runs it.
if(TARGET tenon_models)
    file(GLOB conformance CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/ports/*.c)
    tenon_test_program(tenon-port-check ${PROJECT_BINARY_DIR} tenon-port-check ${conformance}
        ${PROJECT_BINARY_DIR}/speed_cables.c)
    target_link_libraries(tenon-port-check PRIVATE tenon_models tenon_ports_built ${ports} tenon_objs)
    if(TARGET tenon_dpdk_cable)
        target_link_libraries(tenon-port-check PRIVATE tenon_dpdk_cable)
    endif()
endif()

file(GLOB runner CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/script/*.c)
if(runner)
    tenon_test_program(tenon-script ${PROJECT_BINARY_DIR} tenon-script ${runner})
    file(GLOB_RECURSE scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/script/*.pkt)
    set(features "")
    foreach(script IN LISTS scripts)
        cmake_path(GET script PARENT_PATH folder)
        cmake_path(GET folder FILENAME feature)
        list(APPEND features ${feature})
        list(APPEND scripts_of_${feature} ${script})
    endforeach()
    list(REMOVE_DUPLICATES features)
    foreach(feature IN LISTS features)
        add_test(NAME script.${feature} COMMAND tenon-script ${scripts_of_${feature}})
        set_tests_properties(script.${feature} PROPERTIES LABELS script TIMEOUT 300)
    endforeach()
endif()

# The first two simulators let somebody send what means harm, and put routers between hosts.
set(sims ${PROJECT_SOURCE_DIR}/tests)
file(GLOB simulator CONFIGURE_DEPENDS ${sims}/sim/*.c ${sims}/intruder/*.c ${sims}/router/*.c ${sims}/seeds/emit.c
     ${sims}/seeds/range.c)
if(simulator)
    tenon_test_program(tenon-sim ${PROJECT_BINARY_DIR} tenon-sim ${simulator})
    # It moves initial sequence numbers close to their wrap.
    target_link_options(tenon-sim PRIVATE -Wl,--wrap=tn_tcp_isn)
    set(TENON_SIM_SEEDS 1..10000 CACHE STRING "Seeds of the simulator in ctest")
    add_test(NAME sim COMMAND tenon-sim --seeds ${TENON_SIM_SEEDS})
    # The simulator finds the bugs that it puts in itself, and shrinks their histories.
    add_test(NAME sim.selftest COMMAND tenon-sim --selftest)
    set_tests_properties(sim.selftest PROPERTIES LABELS sim TIMEOUT 120)
    # COST: the longest test begins first.
    set_tests_properties(sim PROPERTIES LABELS sim TIMEOUT 1800 COST 1000)
endif()

# The calls for small machines under the same faults, short of memory.
file(GLOB sock_simulator CONFIGURE_DEPENDS ${sims}/sock/*.c ${sims}/seeds/*.c ${sims}/intruder/*.c ${sims}/router/*.c)
tenon_test_program(tenon-sock-sim ${PROJECT_BINARY_DIR} tenon-sock-sim ${sock_simulator})
set(TENON_SOCK_SIM_SEEDS 1..250 CACHE STRING "Seeds of the simulator of embedded/ in ctest")
add_test(NAME sim.sock COMMAND tenon-sock-sim --seeds ${TENON_SOCK_SIM_SEEDS})

# The services of small machines, and servers that fail them.
file(GLOB service_simulator CONFIGURE_DEPENDS ${sims}/services/*.c ${sims}/seeds/*.c)
tenon_test_program(tenon-service-sim ${PROJECT_BINARY_DIR} tenon-service-sim ${service_simulator})
set(TENON_SERVICE_SIM_SEEDS 1..250 CACHE STRING "Seeds of the simulator of services/ in ctest")
add_test(NAME sim.services COMMAND tenon-service-sim --seeds ${TENON_SERVICE_SIM_SEEDS})
set_tests_properties(sim.sock sim.services PROPERTIES LABELS sim TIMEOUT 300)

include(cmake/fuzz.cmake)

# Two instances on a wire in memory: an example that is a test of the library as users link it.
if(TARGET example_pair)
    add_test(NAME example.pair COMMAND example_pair)
    set_tests_properties(example.pair PROPERTIES LABELS build TIMEOUT 60)
endif()

# The port for AF_XDP with the headers of a later kernel: that it compiles is the test.
if(TARGET tenon_port_xdp)
    add_library(build.newer_linux OBJECT ${PROJECT_SOURCE_DIR}/tests/build/newer_linux.c)
    target_compile_definitions(build.newer_linux PRIVATE _GNU_SOURCE)
    target_link_libraries(build.newer_linux PRIVATE tenon_port_xdp)
endif()

# The core without any C library: linked with nothing, and run.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT TENON_SANITIZE AND NOT BUILD_SHARED_LIBS
        AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|aarch64")
    add_executable(build.freestanding ${PROJECT_SOURCE_DIR}/tests/build/freestanding.c)
    target_compile_options(build.freestanding PRIVATE
        -ffreestanding -fno-stack-protector)
    target_link_options(build.freestanding PRIVATE -nostdlib -static)
    target_link_libraries(build.freestanding PRIVATE tenon)
    set_target_properties(build.freestanding PROPERTIES
        OUTPUT_NAME freestanding RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/build)
    add_test(NAME build.freestanding COMMAND build.freestanding)
    set_tests_properties(build.freestanding PROPERTIES LABELS build TIMEOUT 20)
endif()
