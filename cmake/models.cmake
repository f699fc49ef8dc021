# SPDX-License-Identifier: MIT
# Core assignment: the library tenon_models, on any port, and its tests.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()
find_package(Threads REQUIRED)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/*.c)
tenon_upper_library(tenon_models "models/mailbox.h;models/model.h;models/spread.h" ${sources})
target_link_libraries(tenon_models PUBLIC
    $<BUILD_INTERFACE:tenon_port_common> $<INSTALL_INTERFACE:Tenon::tenon_ports> Threads::Threads)
set_target_properties(tenon_models PROPERTIES TENON_NEEDS tenon_ports TENON_LINKS -pthread)
tenon_host_flags(tenon_models)
