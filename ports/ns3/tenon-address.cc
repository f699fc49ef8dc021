/* SPDX-License-Identifier: MIT */
#include "tenon-address.h"

#include <cstdlib>

#include <ns3/abort.h>
#include <ns3/inet-socket-address.h>
#include <ns3/inet6-socket-address.h>

namespace ns3
{

static tenon_ip FromIpv6(const Ipv6Address &address)
{
    uint8_t bytes[16];
    tenon_ip ip = {};

    address.GetBytes(bytes);
    for (unsigned i = 0; i < sizeof bytes; i++)
        ip.w[i / 4] = ip.w[i / 4] << 8 | bytes[i];
    return ip;
}

tenon_ip TenonIp(const Address &address)
{
    if (Ipv4Address::IsMatchingType(address))
        return tenon_ip4(Ipv4Address::ConvertFrom(address).Get());
    NS_ABORT_MSG_UNLESS(Ipv6Address::IsMatchingType(address), "Tenon wants an Ipv4Address or an Ipv6Address here");
    return FromIpv6(Ipv6Address::ConvertFrom(address));
}

bool TenonFromSocketAddress(tenon_addr *to, const Address &from)
{
    *to = {};
    if (InetSocketAddress::IsMatchingType(from)) {
        const auto inet = InetSocketAddress::ConvertFrom(from);

        to->ip = inet.GetIpv4() == Ipv4Address::GetAny() ? tenon_ip_any() : tenon_ip4(inet.GetIpv4().Get());
        to->port = inet.GetPort();
        return true;
    }
    if (Inet6SocketAddress::IsMatchingType(from)) {
        const auto inet = Inet6SocketAddress::ConvertFrom(from);

        to->ip = FromIpv6(inet.GetIpv6());
        to->port = inet.GetPort();
        return true;
    }
    return false;
}

Address TenonToSocketAddress(const tenon_addr &from)
{
    uint8_t bytes[16];

    if (tenon_ip_is_v4(&from.ip) || tenon_ip_is_any(&from.ip))
        return InetSocketAddress(Ipv4Address(from.ip.w[TENON_IP4_WORD]), from.port);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = static_cast<uint8_t>(from.ip.w[i / 4] >> (24 - i % 4 * 8));
    return Inet6SocketAddress(Ipv6Address(bytes), from.port);
}

static void Release(tenon_buf *buf)
{
    std::free(buf);
}

tenon_buf *TenonBuf(uint32_t bytes)
{
    auto *buf = static_cast<tenon_buf *>(std::malloc(sizeof(tenon_buf) + bytes));

    NS_ABORT_MSG_UNLESS(buf, "out of memory");
    *buf = { reinterpret_cast<tenon_u8 *>(buf + 1), bytes, 1, Release };
    return buf;
}

} // namespace ns3
