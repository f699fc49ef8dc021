# SPDX-License-Identifier: MIT
# Two sets of flags: the core (C89 that is also C++98) and all the rest (C11 and POSIX).

set(TENON_WARNINGS_BOTH -Wall -Wextra -Wconversion -Wshadow)
set(TENON_WARNINGS_CORE ${TENON_WARNINGS_BOTH} -pedantic -Wundef -Wcast-qual)
set(TENON_WARNINGS_CORE_C -Wstrict-prototypes -Wmissing-prototypes -Wdeclaration-after-statement)

if(TENON_SANITIZE)
    add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TENON_SANITIZE})
endif()

# Comparisons are not traced: that took most of the time of a long input, and the same time spent on more inputs covers
# more.
if(TENON_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
endif()

# The core's flags.
function(tenon_core_flags target)
    if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(${target} PRIVATE
            ${TENON_WARNINGS_CORE} "$<$<COMPILE_LANGUAGE:C>:${TENON_WARNINGS_CORE_C}>")
        if(TENON_WERROR)
            target_compile_options(${target} PRIVATE -Werror -pedantic-errors)
        endif()
        if(TENON_FREESTANDING)
            target_compile_options(${target} PRIVATE -ffreestanding)
        endif()
    endif()
    set_target_properties(${target} PROPERTIES
        C_STANDARD 90 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        CXX_STANDARD 98 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    if(TENON_LANGUAGE STREQUAL "cxx98")
        get_target_property(sources ${target} SOURCES)
        set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
    endif()
endfunction()

# What makes the library faster, where it is not to be small. gcc likes to put two words of a struct together in a
# vector register before it stores them, which takes longer than two stores: docs/performance.md, "Other builds".
function(tenon_fast_flags target)
    if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
    endif()
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -fno-tree-slp-vectorize)
    endif()
endfunction()

# The flags of ports, programs and tests.
function(tenon_host_flags target)
    if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(${target} PRIVATE ${TENON_WARNINGS_BOTH})
        if(TENON_WERROR)
            target_compile_options(${target} PRIVATE -Werror)
        endif()
    endif()
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
endfunction()

# Tests keep their assert() in every build type.
function(tenon_test_flags target)
    tenon_host_flags(${target})
    target_compile_options(${target} PRIVATE -UNDEBUG)
endfunction()
