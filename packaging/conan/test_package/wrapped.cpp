/* SPDX-License-Identifier: MIT */
/* The C++ header is in the package too, and what it calls is in the library. */
#include <tenon/tenon.hpp>

int main()
{
    const auto ip = tn::parse_ip("fd00::1");

    return ip.ok() && std::string_view(tn::ip_text(*ip)) == "fd00::1" && !tn::parse_ip("fd00").ok() ? 0 : 1;
}
