# SPDX-License-Identifier: MIT
# What a user of the library gets: headers, library, CMake package, pkg-config file, the program.

include(CMakePackageConfigHelpers)

install(DIRECTORY include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
set(libraries tenon ${TENON_PARTS})
if(TARGET tenon_static)
    list(APPEND libraries tenon_static)
endif()
install(TARGETS ${libraries} EXPORT TenonTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT TenonTargets NAMESPACE Tenon:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)

configure_package_config_file(cmake/TenonConfig.cmake.in ${PROJECT_BINARY_DIR}/TenonConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)

# The file finds its prefix from where it lies, so that the tree can be moved; folders that were given as absolute
# paths stay where they are.
set(TENON_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" TENON_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(kind IN ITEMS INCLUDEDIR LIBDIR)
    set(TENON_PC_${kind} ${CMAKE_INSTALL_${kind}})
    if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_${kind}})
        set(TENON_PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
    endif()
endforeach()
set(TENON_PC_TRIM "")
foreach(definition IN LISTS TENON_TRIM)
    string(APPEND TENON_PC_TRIM " -D${definition}")
endforeach()
configure_file(cmake/tenon.pc.in ${PROJECT_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The libraries above the core, each with its headers and a file of its own for pkg-config.
foreach(TENON_PART IN LISTS TENON_PARTS)
    get_target_property(headers ${TENON_PART} TENON_HEADERS)
    foreach(header IN LISTS headers)
        get_filename_component(folder ${header} DIRECTORY)
        install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon/${folder})
    endforeach()
    get_target_property(TENON_NEEDS ${TENON_PART} TENON_NEEDS)
    get_target_property(TENON_LINKS ${TENON_PART} TENON_LINKS)
    configure_file(cmake/part.pc.in ${PROJECT_BINARY_DIR}/${TENON_PART}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${TENON_PART}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET tenon_cli)
    install(TARGETS tenon_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.1)
    if(pages)
        install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    endif()
endif()
