# SPDX-License-Identifier: MIT
# Each file of examples/ is a complete program, on the core alone or on a port.

find_package(Threads REQUIRED)
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
if(NOT TARGET tenon_port_tap OR NOT TARGET tenon_port_packet)
    list(REMOVE_ITEM examples ${PROJECT_SOURCE_DIR}/examples/queues.c ${PROJECT_SOURCE_DIR}/examples/models.c)
endif()
foreach(source IN LISTS examples)
    cmake_path(GET source STEM name)
    add_executable(example_${name} ${source})
    target_link_libraries(example_${name}
        PRIVATE tenon_sock tenon_ports_built ${TENON_PORT_TARGETS} tenon Threads::Threads)
    if(TARGET tenon_models)
        target_link_libraries(example_${name} PRIVATE tenon_models ${TENON_PORT_TARGETS})
    endif()
    tenon_host_flags(example_${name})
    set_target_properties(example_${name} PROPERTIES
        OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endforeach()

# echo.c in C++: echo_cpp.
if(TENON_HAS_CXX)
    add_executable(example_echo_cpp ${PROJECT_SOURCE_DIR}/examples/echo.cpp)
    target_link_libraries(example_echo_cpp PRIVATE tenon)
    tenon_host_flags(example_echo_cpp)
    set_target_properties(example_echo_cpp PROPERTIES
        OUTPUT_NAME echo_cpp RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endif()
