# SPDX-License-Identifier: MIT
# packaging/vcpkg/tenon/portfile.cmake without vcpkg:
#     cmake -DFOLDER=... -DVCPKG_LIBRARY_LINKAGE=static|dynamic [-DFEATURES=ports] -P tests/build/vcpkg.cmake
# The functions below stand in for vcpkg's own: they do what its manual says of them, for this machine. They show that
# the port's steps fit together and that what it packs can be found and linked; not what vcpkg itself thinks of it.
cmake_minimum_required(VERSION 3.25)
set(PORT tenon)
set(CURRENT_PACKAGES_DIR ${FOLDER}/packages/tenon)
set(CURRENT_BUILDTREES_DIR ${FOLDER}/buildtrees/tenon)
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR} ${CURRENT_BUILDTREES_DIR})

function(run)
    execute_process(COMMAND ${ARGV} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_check_linkage)
endfunction()

# Of pairs of a feature and an option of CMake. What is not in the manifest nobody can ask for.
function(vcpkg_check_features)
    cmake_parse_arguments(arg "" "OUT_FEATURE_OPTIONS" "FEATURES" ${ARGN})
    file(READ ${CMAKE_CURRENT_LIST_DIR}/vcpkg.json manifest)
    set(options "")
    while(arg_FEATURES)
        list(POP_FRONT arg_FEATURES feature option)
        string(JSON text GET "${manifest}" features ${feature} description)
        if(feature IN_LIST FEATURES)
            list(APPEND options -D${option}=ON)
        else()
            list(APPEND options -D${option}=OFF)
        endif()
    endwhile()
    set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(arg "" "SOURCE_PATH" "OPTIONS;MAYBE_UNUSED_VARIABLES" ${ARGN})
    string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic shared)
    foreach(pair IN ITEMS "Release:" "Debug:/debug")
        string(REPLACE ":" ";" pair "${pair}")
        list(POP_FRONT pair type)
        execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR}/${type}
            -DCMAKE_BUILD_TYPE=${type} -DCMAKE_C_FLAGS_RELEASE=-O0 -DBUILD_SHARED_LIBS=${shared}
            -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}${pair} -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS}
            OUTPUT_QUIET ERROR_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
        # vcpkg warns of options that a project does not know (any more).
        foreach(name IN LISTS arg_MAYBE_UNUSED_VARIABLES)
            string(REGEX REPLACE "\n +${name}\n" "\n" said "${said}")
        endforeach()
        if(said MATCHES "not used by the project:\n\n +[A-Z]")
            message(FATAL_ERROR "${said}")
        endif()
    endforeach()
endfunction()

function(vcpkg_cmake_install)
    foreach(type IN ITEMS Release Debug)
        run(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR}/${type} --target install)
    endforeach()
endfunction()

# The package's files go to share/PORT, those of the debug build beside them, two folders below the prefix.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(arg "" "CONFIG_PATH" "" ${ARGN})
    set(share ${CURRENT_PACKAGES_DIR}/share/${PORT})
    file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*.cmake)
    file(GLOB debug_files ${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH}/*-debug.cmake)
    if(NOT files OR NOT debug_files)
        message(FATAL_ERROR "there is no package for CMake in ${arg_CONFIG_PATH}")
    endif()
    file(COPY ${files} ${debug_files} DESTINATION ${share})
    file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake ${CURRENT_PACKAGES_DIR}/debug/lib/cmake)
    file(GLOB files ${share}/*.cmake)
    foreach(file IN LISTS files)
        file(READ ${file} text)
        set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
        string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
        string(REGEX REPLACE "(PACKAGE_PREFIX_DIR \"\\\${CMAKE_CURRENT_LIST_DIR}/)[./]*" "\\1../../" text "${text}")
        if(file MATCHES "-debug\\.cmake$")
            string(REPLACE "\${_IMPORT_PREFIX}/lib" "\${_IMPORT_PREFIX}/debug/lib" text "${text}")
        endif()
        file(WRITE ${file} "${text}")
    endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/tenon.pc)
        message(FATAL_ERROR "there is no tenon.pc in lib/pkgconfig")
    endif()
endfunction()

function(vcpkg_copy_pdbs)
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(arg "" "" "FILE_LIST" ${ARGN})
    file(READ ${arg_FILE_LIST} text)
    file(WRITE ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright "${text}")
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/../../packaging/vcpkg/tenon/portfile.cmake)

# What vcpkg looks at after a build.
foreach(wrong IN ITEMS debug/include debug/share lib/cmake debug/lib/cmake share/doc bin)
    if(EXISTS ${CURRENT_PACKAGES_DIR}/${wrong})
        message(FATAL_ERROR "${wrong} does not belong into a package")
    endif()
endforeach()
foreach(wanted IN ITEMS include/tenon/tenon.h include/tenon/tenon.hpp share/tenon/copyright share/tenon/usage)
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${wanted})
        message(FATAL_ERROR "${wanted} is missing")
    endif()
endforeach()
file(READ ${CMAKE_CURRENT_LIST_DIR}/../../packaging/vcpkg/tenon/vcpkg.json manifest)
file(STRINGS ${CURRENT_PACKAGES_DIR}/include/tenon/tenon.h version REGEX "define TENON_VERSION")
string(JSON manifest_version GET "${manifest}" version-semver)
if(NOT version MATCHES "\"${manifest_version}\"")
    message(FATAL_ERROR "vcpkg.json says ${manifest_version}, tenon.h:${version}")
endif()
