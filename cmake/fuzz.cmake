# SPDX-License-Identifier: MIT
# Fuzz targets: tests/fuzz/NAME_fuzz.c becomes the program fuzz/NAME. Usually it replays files, and ctest runs it
# over tests/fuzz/corpus/NAME (fuzz.NAME); with TENON_FUZZ, and clang or afl-clang-fast, it is a fuzzer.

set(fuzz_driver "")
if(NOT TENON_FUZZ)
    set(fuzz_driver ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.c)
endif()
add_custom_target(fuzzers)

# A target: NAME, and the sources beside NAME_fuzz.c and the driver.
function(tenon_fuzz_target name)
    tenon_test_program(fuzz.${name} ${PROJECT_BINARY_DIR}/fuzz ${name}
        ${PROJECT_SOURCE_DIR}/tests/fuzz/${name}_fuzz.c ${fuzz_driver} ${ARGN})
    add_dependencies(fuzzers fuzz.${name})
    set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    if(TENON_FUZZ)
        target_link_options(fuzz.${name} PRIVATE -fsanitize=fuzzer)
        add_test(NAME fuzz.${name} COMMAND fuzz.${name} -runs=0 ${corpus})
    else()
        add_test(NAME fuzz.${name} COMMAND fuzz.${name} ${corpus})
    endif()
    set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

set(world ${PROJECT_SOURCE_DIR}/tests/fuzz/world.c ${PROJECT_SOURCE_DIR}/tests/fuzz/panic.c)
tenon_fuzz_target(wire ${world})
tenon_fuzz_target(listen ${world})
tenon_fuzz_target(dhcp ${world})
tenon_fuzz_target(dns ${world})
tenon_fuzz_target(rdnss ${world})
tenon_fuzz_target(tftp ${world})
tenon_fuzz_target(sock ${world})
tenon_fuzz_target(peer ${world}
    ${PROJECT_SOURCE_DIR}/tests/fuzz/peer_model.c ${PROJECT_SOURCE_DIR}/tests/fuzz/peer_app.c)
# The simulator brings a world and a tenon_panic() of its own.
set(simulator_parts ${simulator})
list(FILTER simulator_parts EXCLUDE REGEX "/(main|shrink)\\.c$")
tenon_fuzz_target(sim ${simulator_parts})
foreach(name IN ITEMS peer sim)
    target_link_options(fuzz.${name} PRIVATE -Wl,--wrap=tn_tcp_isn)
endforeach()
target_link_options(fuzz.peer PRIVATE -Wl,--wrap=tn_tcp_fastopen_key)
