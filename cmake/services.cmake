# SPDX-License-Identifier: MIT
# Services on the public interface of the core, for any port: DHCP, names, time. Compiled as the core is.

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/services/*.c)
add_library(tenon_services STATIC ${sources})
target_include_directories(tenon_services PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_link_libraries(tenon_services PUBLIC $<BUILD_INTERFACE:tenon_headers>)
tenon_core_flags(tenon_services)
