/* SPDX-License-Identifier: MIT */
/* echo.c in C++17, with tenon.hpp: a TCP echo at 10.9.0.2 and fd00:9::2, port 7, that also says how much each peer has
 * sent. Usage: echo_cpp FD, where FD is a descriptor of which one read() or write() is one frame (README.md). */
#include <poll.h>
#include <tenon/tenon.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static tenon_u32 now_us()
{
    const auto t = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<tenon_u32>(std::chrono::duration_cast<std::chrono::microseconds>(t).count());
}

/* What the stack asks of its host. */
class cable
{
  public:
    explicit cable(int fd) : fd_(fd) {}
    void *mem_get(std::size_t bytes) { return std::malloc(bytes); }
    void mem_put(void *mem, std::size_t) { std::free(mem); }
    bool entropy(void *bytes, std::size_t n) { return getentropy(bytes, n) == 0; }
    unsigned buf_get(tenon_buf **bufs, unsigned n)
    {
        unsigned i = 0;
        while (i < n && (bufs[i] = packet().release()) != nullptr)
            i++;
        return i;
    }
    unsigned transmit(unsigned, const tenon_frame *frames, unsigned n)
    {
        unsigned i = 0; /* gather_max is 1, so each frame is one span */
        while (i < n && write(fd_, tenon_span_data(frames[i].spans), frames[i].spans->len) >= 0)
            i++;
        return i; /* fewer than n: the stack keeps the others and offers them again */
    }
    /* Wait for a frame, and give it to the stack. @return false: the other end has hung up */
    bool receive(tn::netif netif, int wait_ms)
    {
        pollfd ready = { fd_, POLLIN, 0 };
        if (poll(&ready, 1, wait_ms) < 1)
            return true;
        const tn::buf bytes = packet();
        tenon_span span = bytes.span();
        const ssize_t n = bytes ? read(fd_, bytes.data(), bytes.size()) : -1;
        tenon_frame frame = {};
        span.len = n > 0 ? static_cast<tenon_u32>(n) : 0;
        frame.spans = &span;
        frame.nspans = 1;
        return n != 0 && netif.input(&frame, n > 0, now_us()).ok();
    }

  private:
    static tn::buf packet() { return tn::make_buf(std::vector<tenon_u8>(2048)); } /* a pool in earnest */
    int fd_;
};

/* A connection: made when it is open, deleted when it is closed. */
class echo : public tn::tcp<echo>
{
  public:
    void received(tn::spans data)
    {
        bytes_ += data.bytes();
        for (const tenon_span &span : data)
            if (!send(span).ok())
                return abort(); /* no memory */
    }
    void acked(tenon_u32 bytes) { consumed(bytes); }
    void closed(tn::status why) { std::printf("%lu bytes, then: %s\n", bytes_, why.text()); }

  private:
    unsigned long bytes_ = 0;
};

int main(int argc, char **argv)
{
    cable cable(argc == 2 ? std::atoi(argv[1]) : -1);
    auto stack = tn::stack::make(cable);
    tenon_netif_conf nic = { { 2, 0, 0, 0, 0, 2 }, 1500, 0, 0, 1, TENON_NETIF_NO_DAD, 0 };
    if (argc != 2 || !stack.ok())
        return std::fputs("usage: echo_cpp FD\n", stderr), 1;
    auto netif = stack->add_netif(nic);
    if (!netif.ok() || !netif->add_address(tn::ip4(10, 9, 0, 2), 24).ok() ||
        !netif->add_address(*tn::parse_ip("fd00:9::2"), 64).ok())
        return 1;
    auto listener = tn::listener::serve<echo>(*stack, tn::any_at(7));
    if (!listener.ok() || !listener->set(TENON_TCP_SND_BUF, 2 << 20).ok()) /* what is out finds room to come back */
        return 1;
    while (cable.receive(*netif, static_cast<int>(stack->poll(now_us()) / 1000) + 1))
        std::fflush(stdout);
}
