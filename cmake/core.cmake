# SPDX-License-Identifier: MIT
# The core: the library for users, and for the tests the same sources as separate objects.

file(GLOB_RECURSE TENON_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(REMOVE_ITEM TENON_SOURCES ${PROJECT_SOURCE_DIR}/src/tenon_all.c)

# The default tenon_panic() is an object of its own, so that a program can bring another one; the flow hash, so that
# a program which does not use it has nothing of it.
set(TENON_OWN_OBJECTS ${PROJECT_SOURCE_DIR}/src/base/panic.c ${PROJECT_SOURCE_DIR}/src/base/flow.c)

if(TENON_UNITY)
    add_library(tenon ${PROJECT_SOURCE_DIR}/src/tenon_all.c ${TENON_OWN_OBJECTS})
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/tenon_all.c
        APPEND PROPERTY COMPILE_DEFINITIONS TENON_UNITY=1)
else()
    add_library(tenon ${TENON_SOURCES})
endif()
add_library(Tenon::tenon ALIAS tenon)
target_include_directories(tenon
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
# Inline functions of the headers check with the same level as the library.
target_compile_definitions(tenon PUBLIC TENON_ASSERT_LEVEL=${TENON_ASSERT_LEVEL})
set_target_properties(tenon PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(BUILD_SHARED_LIBS)
    set_target_properties(tenon PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
tenon_core_flags(tenon)

# The headers alone, for the ports: a program decides which build of the core it links.
add_library(tenon_headers INTERFACE)
target_include_directories(tenon_headers INTERFACE ${PROJECT_SOURCE_DIR}/include)

# For tests: every file of the core an object of its own, internal functions within reach, and the
# walking checkers on.
if(TENON_TESTS)
    add_library(tenon_objs STATIC ${TENON_SOURCES})
    target_include_directories(tenon_objs PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(tenon_objs PUBLIC TENON_ASSERT_LEVEL=2)
    tenon_core_flags(tenon_objs)
endif()
