# SPDX-License-Identifier: MIT
# The core: the library for users, and for the tests the same sources as separate objects.

# What is left out: TENON_WITH_X=0 for the core and for whoever includes its headers.
file(STRINGS ${PROJECT_SOURCE_DIR}/include/tenon/config.h TENON_SWITCHES REGEX "^#define TENON_WITH_")
list(TRANSFORM TENON_SWITCHES REPLACE "^#define TENON_WITH_([A-Z0-9_]+) .*" "\\1")
set(TENON_TRIM "")
foreach(name IN LISTS TENON_WITHOUT)
    if(NOT name IN_LIST TENON_SWITCHES)
        message(FATAL_ERROR "TENON_WITHOUT has \"${name}\"; it can have ${TENON_SWITCHES}.")
    endif()
    list(APPEND TENON_TRIM TENON_WITH_${name}=0)
endforeach()

file(GLOB_RECURSE TENON_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(REMOVE_ITEM TENON_SOURCES ${PROJECT_SOURCE_DIR}/src/tenon_all.c)

# The default tenon_panic() is an object of its own, so that a program can bring another one; the flow hash, so that
# a program which does not use it has nothing of it.
set(TENON_OWN_OBJECTS ${PROJECT_SOURCE_DIR}/src/base/panic.c ${PROJECT_SOURCE_DIR}/src/base/flow.c)

if(TENON_UNITY)
    set(TENON_LIBRARY_SOURCES ${PROJECT_SOURCE_DIR}/src/tenon_all.c ${TENON_OWN_OBJECTS})
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/tenon_all.c
        APPEND PROPERTY COMPILE_DEFINITIONS TENON_UNITY=1)
else()
    set(TENON_LIBRARY_SOURCES ${TENON_SOURCES})
endif()

# A library for users, of the kind in ARGN or of that which BUILD_SHARED_LIBS says.
function(tenon_core_library target)
    add_library(${target} ${ARGN} ${TENON_LIBRARY_SOURCES})
    add_library(Tenon::${target} ALIAS ${target})
    target_include_directories(${target}
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${PROJECT_SOURCE_DIR}/src)
    # Inline functions of the headers check with the same level as the library.
    target_compile_definitions(${target} PUBLIC TENON_ASSERT_LEVEL=${TENON_ASSERT_LEVEL} ${TENON_TRIM})
    # Before version 1.0 each minor version has an ABI of its own.
    set_target_properties(${target} PROPERTIES OUTPUT_NAME tenon
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    tenon_core_flags(${target})
    tenon_fast_flags(${target})
endfunction()

tenon_core_library(tenon)
# Tenon::tenon_static is there in any case: a target of its own beside a shared library, else another name.
if(NOT BUILD_SHARED_LIBS)
    add_library(Tenon::tenon_static ALIAS tenon)
elseif(TENON_STATIC)
    tenon_core_library(tenon_static STATIC)
endif()

# The headers alone, for the ports: a program decides which build of the core it links.
add_library(tenon_headers INTERFACE)
target_include_directories(tenon_headers INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(tenon_headers INTERFACE ${TENON_TRIM})

# A library on the public interface, with its headers. In the tree they are "FOLDER/NAME.h" and, as after an
# installation, <tenon/FOLDER/NAME.h>. Which build of the core goes with it: in the tree the program says so. All of
# them are in TENON_PARTS, for the installation.
set(TENON_PARTS "")
function(tenon_upper_library target headers)
    add_library(${target} STATIC ${ARGN})
    add_library(Tenon::${target} ALIAS ${target})
    foreach(header IN LISTS headers)
        configure_file(${PROJECT_SOURCE_DIR}/${header} ${PROJECT_BINARY_DIR}/include/tenon/${header} COPYONLY)
    endforeach()
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
    target_link_libraries(${target} PUBLIC
        $<BUILD_INTERFACE:tenon_headers> $<INSTALL_INTERFACE:Tenon::tenon>)
    set_target_properties(${target} PROPERTIES TENON_HEADERS "${headers}" TENON_NEEDS tenon TENON_LINKS "")
    set(TENON_PARTS ${TENON_PARTS} ${target} PARENT_SCOPE)
endfunction()

# For tests: every file of the core an object of its own, internal functions within reach, and the
# walking checkers on.
if(TENON_TESTS)
    add_library(tenon_objs STATIC ${TENON_SOURCES})
    target_include_directories(tenon_objs PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(tenon_objs PUBLIC TENON_ASSERT_LEVEL=2 ${TENON_TRIM})
    tenon_core_flags(tenon_objs)
endif()
