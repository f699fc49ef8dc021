# SPDX-License-Identifier: MIT
# Services on the public interface of the core, for any port: DHCP, names, time, files. Compiled as the core is.
# Tenon::tenon_services.

file(GLOB TENON_SERVICES_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/services/*.c)
set(TENON_SERVICES_HEADERS clock.h dhcp.h dns.h linklocal.h rdnss.h sntp.h tftp.h)
list(TRANSFORM TENON_SERVICES_HEADERS PREPEND services/)
tenon_upper_library(tenon_services "${TENON_SERVICES_HEADERS}" ${TENON_SERVICES_SOURCES})
tenon_core_flags(tenon_services)
