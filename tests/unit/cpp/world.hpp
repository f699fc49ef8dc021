/* SPDX-License-Identifier: MIT */
/* Two instances on a wire, for the tests of tenon.hpp. */
#ifndef TENON_TESTS_CPP_WORLD_HPP
#define TENON_TESTS_CPP_WORLD_HPP

#include "../unit.h"

/* Functions that are named like a struct, as in C. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "ports/wire/wire.h"
#pragma GCC diagnostic pop

#include <tenon/tenon.hpp>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

class world
{
  public:
    enum { CLIENT, SERVER };

    /** @param loss_ppm  of each direction's frames */
    explicit world(std::uint32_t loss_ppm = 0)
    {
        wire_conf conf = {};

        conf.memory = {get, put, this};
        conf.seed = 1;
        conf.start_us = 1000000;
        wire_ = wire_open(&conf);
        for (unsigned i = 0; i < 2; i++)
            open(i, loss_ppm);
    }
    world(const world &) = delete;
    world &operator=(const world &) = delete;
    ~world()
    {
        for (wire_host *host : hosts_) {
            end(host);
            wire_run(wire_, wire_now(wire_) + 10000000);
            struct wire_host_stats stats;
            wire_host_stats(host, &stats);
            CHECK_EQ_U(stats.mem_blocks, 0);
            CHECK_EQ_U(stats.bufs, 0);
            CHECK_EQ_U(stats.rx_bufs, 0);
            CHECK_EQ_U(stats.mem_wrong, 0);
        }
        wire_close(wire_);
        CHECK_EQ_U(mem_out_, 0);
    }

    tn::stack_ref stack(unsigned i) const { return wire_host_stack(hosts_[i]); }
    wire_host *host(unsigned i) const { return hosts_[i]; }
    static tn::result<tenon_ip> ip(unsigned i) { return tn::ip4(10, 0, 0, i + 1); }
    static tenon_addr at(unsigned i, tenon_u16 port) { return tn::endpoint(tn::ip4(10, 0, 0, i + 1), port); }

    /** Let seconds go by, after calls that did not come from a handler. */
    void run(double seconds = 1)
    {
        for (wire_host *host : hosts_)
            wire_wake(host);
        wire_run(wire_, wire_now(wire_) + static_cast<std::uint64_t>(seconds * 1e6));
    }
    /** tenon_fini() of one side. */
    static void end(wire_host *host)
    {
        if (wire_host_stack(host) != nullptr)
            wire_host_fini(host);
    }

  private:
    static void *get(void *arg, std::size_t bytes)
    {
        static_cast<world *>(arg)->mem_out_ += bytes;
        return std::malloc(bytes);
    }
    static void put(void *arg, void *mem, std::size_t bytes)
    {
        static_cast<world *>(arg)->mem_out_ -= bytes;
        std::free(mem);
    }

    void open(unsigned i, std::uint32_t loss_ppm)
    {
        wire_host_conf host_conf = {};
        struct wire_end_conf end_conf = {};
        const tenon_conf conf = tn::default_conf();

        host_conf.seed = i + 1;
        host_conf.poison = 1;
        end_conf.netif.mac[0] = 2;
        end_conf.netif.mac[5] = static_cast<tenon_u8>(i + 1);
        end_conf.netif.mtu = 1500;
        end_conf.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
        end_conf.out.delay_us = 1000;
        end_conf.out.loss_ppm = loss_ppm;
        hosts_[i] = wire_host_open(wire_, &host_conf, &conf);
        CHECK(wire_end_open(hosts_[i], &end_conf) != nullptr);
        CHECK(stack(i).netif_at(1).add_address(*ip(i), 24).ok());
    }

    wire *wire_ = nullptr;
    wire_host *hosts_[2] = {};
    std::size_t mem_out_ = 0;
};

/** The i-th byte of the stream that tests send. */
inline char stream_byte(std::size_t i)
{
    return static_cast<char>(static_cast<unsigned char>(i * 2654435761U >> 24));
}

inline std::string stream(std::size_t from, std::size_t bytes)
{
    std::string text(bytes, '\0');

    for (std::size_t i = 0; i < bytes; i++)
        text[i] = stream_byte(from + i);
    return text;
}

#endif
