# SPDX-License-Identifier: MIT
# The module for the ns-3 simulator (3.37 and 3.43, as Debian 12 and 13 have it: libns3-dev), its tests and its
# examples: where ns-3 and a C++ compiler are. The package's pkg-config files have wrong paths, so the libraries are
# looked for by name.

option(TENON_NS3 "Build the ns-3 module where ns-3 is found" ON)
if(NOT TENON_NS3 OR NOT TENON_PORTS OR TENON_FUZZ OR CMAKE_CROSSCOMPILING)
    return()
endif()
find_path(TENON_NS3_INCLUDE ns3/core-module.h)
set(TENON_NS3_LIBS "")
foreach(module IN ITEMS applications csma point-to-point internet network core)
    find_library(TENON_NS3_${module} ns3-${module})
    list(APPEND TENON_NS3_LIBS ${TENON_NS3_${module}})
endforeach()
tenon_find_cxx()
if(NOT TENON_NS3_INCLUDE OR TENON_NS3_LIBS MATCHES "NOTFOUND" OR NOT CMAKE_CXX_COMPILER)
    return()
endif()
enable_language(CXX)
# The C++ compiler was not chosen by whoever chose the one for C: for -m32, or clang's sanitizers, it is the wrong one.
if(NOT CMAKE_C_SIZEOF_DATA_PTR EQUAL CMAKE_CXX_SIZEOF_DATA_PTR
        OR (TENON_SANITIZE AND NOT CMAKE_C_COMPILER_ID STREQUAL CMAKE_CXX_COMPILER_ID))
    return()
endif()

# Its later headers want C++20.
set(TENON_NS3_STANDARD 17)
set(TENON_NS3_MINOR 0)
if(EXISTS ${TENON_NS3_INCLUDE}/ns3/version-defines.h)
    file(STRINGS ${TENON_NS3_INCLUDE}/ns3/version-defines.h line REGEX "define NS3_VERSION_MINOR ")
    string(REGEX REPLACE ".* ([0-9]+).*" "\\1" TENON_NS3_MINOR "${line}")
endif()
if(TENON_NS3_MINOR GREATER_EQUAL 40)
    set(TENON_NS3_STANDARD 20)
endif()

function(tenon_ns3_flags target)
    if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(${target} PRIVATE ${TENON_WARNINGS_BOTH})
        if(TENON_WERROR)
            target_compile_options(${target} PRIVATE -Werror)
        endif()
    endif()
    set_target_properties(${target} PROPERTIES
        CXX_STANDARD ${TENON_NS3_STANDARD} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
endfunction()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ports/ns3/*.cc)
add_library(tenon_port_ns3 STATIC ${sources})
target_include_directories(tenon_port_ns3 PUBLIC ${PROJECT_SOURCE_DIR})
target_include_directories(tenon_port_ns3 SYSTEM PUBLIC ${TENON_NS3_INCLUDE})
target_link_libraries(tenon_port_ns3 PUBLIC tenon_headers ${TENON_NS3_LIBS})
tenon_ns3_flags(tenon_port_ns3)

function(tenon_ns3_program target folder core)
    add_executable(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE tenon_port_ns3 ${core})
    tenon_ns3_flags(${target})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
endfunction()

if(TENON_EXAMPLES)
    tenon_ns3_program(ns3-first examples tenon ${PROJECT_SOURCE_DIR}/examples/ns3/first.cc)
    tenon_ns3_program(ns3-dumbbell examples tenon ${PROJECT_SOURCE_DIR}/examples/ns3/dumbbell.cc)
endif()
if(TENON_TESTS)
    tenon_ns3_program(tenon-paths-ns3 . tenon ${PROJECT_SOURCE_DIR}/bench/paths/ns3.cc)
    tenon_ns3_program(unit.port.ns3_test tests/unit tenon_objs ${PROJECT_SOURCE_DIR}/ports/ns3/test/ns3_test.cc)
    target_include_directories(unit.port.ns3_test PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit)
    set_target_properties(unit.port.ns3_test PROPERTIES OUTPUT_NAME port.ns3_test)
    add_test(NAME unit.port.ns3_test COMMAND unit.port.ns3_test)
    set_tests_properties(unit.port.ns3_test PROPERTIES LABELS unit TIMEOUT 120)

    # What every port has to be able to do: tests/interop/test_port_conformance.py runs it.
    tenon_ns3_program(tenon-port-check-ns3 . tenon_objs ${PROJECT_SOURCE_DIR}/tests/ports/node_ns3.cc
        ${PROJECT_SOURCE_DIR}/tests/ports/check.c ${PROJECT_SOURCE_DIR}/tests/ports/common.c)
    target_link_libraries(tenon-port-check-ns3 PRIVATE tenon_port_common)
    tenon_test_flags(tenon-port-check-ns3)
    tenon_ns3_flags(tenon-port-check-ns3)

    # The example, twice: the same to the last bit.
    find_package(Python3 COMPONENTS Interpreter)
    if(TENON_EXAMPLES AND Python3_FOUND)
        add_test(NAME example.ns3_dumbbell COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/examples/ns3/run
            --nodes 20 --seconds 3 --build ${PROJECT_BINARY_DIR} --out ${PROJECT_BINARY_DIR}/ns3)
        set_tests_properties(example.ns3_dumbbell PROPERTIES LABELS build TIMEOUT 120)
    endif()
endif()
