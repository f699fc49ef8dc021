/* SPDX-License-Identifier: MIT */
/** @file
 *  Tenon for C++17: the interface of the C headers with destructors. Header-only; nothing of it is in the library.
 *
 *  Namespace: `tn`, because `tenon` is the name of a struct of the C interface, and a namespace cannot share it.
 *
 *  Errors: no function throws, and everything works with -fno-exceptions and -fno-rtti. What can fail returns a
 *  `status`, or a `result<T>` that holds a T or a status; the compiler warns of one that nobody looks at. A handler
 *  that throws ends the program (std::terminate), because the frames below it are C.
 *
 *  Memory: the wrapper takes none, with two exceptions that say so, make_buf() and listener::serve(). Handlers are
 *  ordinary member functions, found when the program is compiled: no virtual table, no std::function. An event costs
 *  what it costs in C.
 *
 *  Owners and references: `stack`, `listener`, `udp`, `buf`, `kept` and classes made of `tcp<>` own something and give
 *  it back in their destructor; they can be moved, not copied. `stack_ref`, `netif`, `conn` and `udp_ref` are pointers
 *  with functions: copies are free, and who keeps one must know that the thing still lives. An owner that is empty
 *  (never opened, moved from, closed) may be used: it answers TENON_ECLOSED, or does nothing.
 *
 *  Order: listeners and sockets end before their stack does. In a class, or a function, that is so when they stand
 *  behind it. Connections may be destroyed later: they hear from the stack that it ends. Handlers outlive what
 *  calls them.
 *
 *  Threads: as in C. One instance, one thread at a time. */
#ifndef TENON_TENON_HPP
#define TENON_TENON_HPP

#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenon/tenon.h>

namespace tn
{

/* ---- what a call says ------------------------------------------------------------------------ */

/** TENON_OK or an error; compare it with the names of enum tenon_error. */
class [[nodiscard]] status
{
  public:
    constexpr status(int code = TENON_OK) noexcept : code_(code) {}
    constexpr bool ok() const noexcept { return code_ == TENON_OK; }
    constexpr int code() const noexcept { return code_; }
    /** An English sentence. */
    const char *text() const noexcept { return tenon_error_text(code_); }

    friend constexpr bool operator==(status a, status b) noexcept { return a.code_ == b.code_; }
    friend constexpr bool operator!=(status a, status b) noexcept { return a.code_ != b.code_; }

  private:
    int code_;
};

/** A T, or the reason why there is none. Whoever asks for a value that is not there ends in tenon_panic(). */
template <class T> class [[nodiscard]] result
{
  public:
    result(status why) noexcept : why_(why) { TENON_ASSERT(!why.ok()); }
    result(T value) noexcept : value_(std::move(value)) {}

    bool ok() const noexcept { return why_.ok(); }
    status why() const noexcept { return why_; }
    T &value() & noexcept
    {
        TENON_ASSERT(ok());
        return *value_;
    }
    const T &value() const & noexcept
    {
        TENON_ASSERT(ok());
        return *value_;
    }
    T value() && noexcept
    {
        TENON_ASSERT(ok());
        return std::move(*value_);
    }
    T &operator*() & noexcept { return value(); }
    const T &operator*() const & noexcept { return value(); }
    T operator*() && noexcept { return std::move(*this).value(); }
    T *operator->() noexcept { return &value(); }
    const T *operator->() const noexcept { return &value(); }

  private:
    std::optional<T> value_;
    status why_;
};

/* ---- addresses ------------------------------------------------------------------------------- */

inline tenon_ip ip4(unsigned a, unsigned b, unsigned c, unsigned d) noexcept { return tenon_ip4_bytes(a, b, c, d); }

/** Read an address, IPv4 or IPv6.
 *  @param text  all of it, 0-terminated
 *  @return TENON_EINVAL for anything else */
inline result<tenon_ip> parse_ip(const char *text) noexcept
{
    tenon_ip ip = tenon_ip_any();
    const int n = tenon_ip_parse(&ip, text);

    if (n < 0 || text[n] != '\0')
        return status(TENON_EINVAL);
    return ip;
}

/** An address as text, with the memory for it. */
class ip_text
{
  public:
    explicit ip_text(const tenon_ip &ip) noexcept : length_(static_cast<std::size_t>(tenon_ip_format(text_, &ip))) {}
    const char *c_str() const noexcept { return text_; }
    operator std::string_view() const noexcept { return {text_, length_}; }

  private:
    char text_[TENON_IP_TEXT_MAX] = {};
    std::size_t length_;
};

/** One end of a connection or datagram.
 *  @param netif  for a link-local address: its interface */
inline tenon_addr endpoint(const tenon_ip &ip, tenon_u16 port, tenon_u16 netif = 0) noexcept
{
    return {ip, port, netif};
}

/** Every address of both IP versions, with a port: for listeners and sockets. */
inline tenon_addr any_at(tenon_u16 port) noexcept { return {tenon_ip_any(), port, 0}; }

/* ---- packet memory --------------------------------------------------------------------------- */

/** The bytes of a span as text; valid as long as the span's buffer. */
inline std::string_view text_of(const tenon_span &span) noexcept
{
    return {reinterpret_cast<const char *>(tenon_span_data(&span)), span.len};
}

/** Spans that a handler is given, valid during the call: `for (const tenon_span &span : spans)`. */
class spans
{
  public:
    constexpr spans(const tenon_span *first, unsigned n) noexcept : first_(first), n_(n) {}
    constexpr const tenon_span *begin() const noexcept { return first_; }
    constexpr const tenon_span *end() const noexcept { return first_ + n_; }
    constexpr unsigned size() const noexcept { return n_; }
    const tenon_span &operator[](unsigned i) const noexcept
    {
        TENON_ASSERT(i < n_);
        return first_[i];
    }
    /** Bytes of all together. */
    constexpr tenon_u32 bytes() const noexcept
    {
        tenon_u32 sum = 0;

        for (const tenon_span &span : *this)
            sum += span.len;
        return sum;
    }
    /** Copy the first bytes, `room` at most. @return how many */
    tenon_u32 copy_to(void *to, tenon_u32 room) const noexcept
    {
        tenon_u32 done = 0;

        for (const tenon_span &span : *this) {
            const tenon_u32 n = span.len < room - done ? span.len : room - done;

            if (n > 0)
                std::memcpy(static_cast<tenon_u8 *>(to) + done, tenon_span_data(&span), n);
            done += n;
        }
        return done;
    }

  private:
    const tenon_span *first_;
    unsigned n_;
};

/** One reference on a buffer; the destructor gives it up. The count is not atomic: one instance, one thread. */
class buf
{
  public:
    buf() noexcept = default;
    buf(buf &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    buf &operator=(buf &&other) noexcept
    {
        buf taken(std::move(other));

        std::swap(raw_, taken.raw_);
        return *this;
    }
    ~buf()
    {
        if (raw_ != nullptr)
            tenon_buf_put(raw_);
    }

    /** Take over a reference that the caller has. */
    static buf take(tenon_buf *raw) noexcept { return buf(raw); }
    /** One reference more. */
    static buf share(tenon_buf *raw) noexcept
    {
        if (raw != nullptr)
            tenon_buf_ref(raw);
        return buf(raw);
    }
    buf share() const noexcept { return share(raw_); }
    /** Give the reference to the caller, for C: tenon_host.buf_get() for example. */
    tenon_buf *release() noexcept { return std::exchange(raw_, nullptr); }

    explicit operator bool() const noexcept { return raw_ != nullptr; }
    tenon_buf *raw() const noexcept { return raw_; }
    tenon_u8 *data() const noexcept { return raw_ != nullptr ? raw_->data : nullptr; }
    tenon_u32 size() const noexcept { return raw_ != nullptr ? raw_->size : 0; }
    /** The whole of it, as something that can be sent. */
    tenon_span span() const noexcept { return {raw_, 0, size()}; }

  private:
    explicit buf(tenon_buf *raw) noexcept : raw_(raw) {}
    tenon_buf *raw_ = nullptr;
};

/** A span with a reference on its buffer: what a handler keeps of what it was given. It may outlive the connection
 *  and the stack, but not the port whose memory it is. */
class kept
{
  public:
    kept() noexcept = default;
    explicit kept(const tenon_span &span) noexcept : buf_(buf::share(span.buf)), off_(span.off), len_(span.len) {}

    tenon_span span() const noexcept { return {buf_.raw(), buf_ ? off_ : 0, size()}; }
    tenon_u32 size() const noexcept { return buf_ ? len_ : 0; }
    std::string_view text() const noexcept { return buf_ ? text_of(span()) : std::string_view(); }

  private:
    buf buf_;
    tenon_u32 off_ = 0, len_ = 0;
};

/** Move a container of bytes (std::string, std::vector<unsigned char>, ...) into a buffer, to send it without a copy.
 *  Takes memory by new, once; the container is destroyed with the last reference.
 *  @return an empty buf: no memory, or 4 GB and more */
template <class Container> buf make_buf(Container &&bytes) noexcept
{
    static_assert(!std::is_lvalue_reference_v<Container>, "make_buf() takes the container over: std::move() it");
    static_assert(sizeof(*bytes.data()) == 1, "a container of bytes");
    struct holder : tenon_buf {
        explicit holder(Container &&from) noexcept : tenon_buf(), container(std::move(from)) {}
        Container container;
    };
    if (bytes.size() > 0xFFFFFFFFUL)
        return {};
    auto *made = new (std::nothrow) holder(std::move(bytes));
    if (made == nullptr)
        return {};
    made->data = const_cast<tenon_u8 *>(reinterpret_cast<const tenon_u8 *>(made->container.data()));
    made->size = static_cast<tenon_u32>(made->container.size());
    made->refs = 1;
    made->release = [](tenon_buf *raw) noexcept { delete static_cast<holder *>(raw); };
    return buf::take(made);
}

/* ---- the instance ---------------------------------------------------------------------------- */

class netif;

/** An instance that somebody else owns: a `stack`, a port, C code. */
class stack_ref
{
  public:
    stack_ref() noexcept = default;
    stack_ref(tenon *raw) noexcept : raw_(raw) {}

    tenon *raw() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_ != nullptr; }

    /** tenon_poll(). @return microseconds until it wants to be called again; 30 minutes when there is no instance */
    tenon_u32 poll(tenon_u32 now_us) const noexcept { return raw_ ? tenon_poll(raw_, now_us) : 1800000000U; }
    tenon_u32 stat(enum tenon_stat which) const noexcept { return raw_ ? ::tenon_stat(raw_, which) : 0; }
    /** tenon_netif_add(). */
    inline result<netif> add_netif(const tenon_netif_conf &conf) const noexcept;
    /** The interface with that number. */
    inline netif netif_at(unsigned number) const noexcept;

  protected:
    tenon *raw_ = nullptr;
};

/** An interface of an instance; there as long as the instance is. */
class netif
{
  public:
    netif(stack_ref stack, unsigned number) noexcept : stack_(stack), number_(number) {}

    unsigned number() const noexcept { return number_; }
    stack_ref stack() const noexcept { return stack_; }

    /** tenon_input(). */
    status input(const tenon_frame *frames, unsigned n, tenon_u32 now_us) const noexcept
    {
        return tenon_input(stack_.raw(), number_, frames, n, now_us);
    }
    status link(bool up) const noexcept { return tenon_netif_link(stack_.raw(), number_, up); }
    status set_mtu(tenon_u16 mtu) const noexcept { return tenon_netif_mtu(stack_.raw(), number_, mtu); }
    result<tenon_netif_info> info() const noexcept
    {
        tenon_netif_info info = {};
        const status said = tenon_netif_get(stack_.raw(), number_, &info);

        return said.ok() ? result<tenon_netif_info>(info) : said;
    }

    /** tenon_addr_add(): the address, and a route to its prefix. */
    status add_address(const tenon_ip &ip, unsigned prefix) const noexcept
    {
        return tenon_addr_add(stack_.raw(), number_, &ip, prefix);
    }
    status remove_address(const tenon_ip &ip) const noexcept { return tenon_addr_remove(stack_.raw(), number_, &ip); }
    /** tenon_route_add() with a gateway. The default routes have prefix 0 and ip4(0, 0, 0, 0), or tenon_ip_any() for
     *  IPv6. */
    status add_route(const tenon_ip &dst, unsigned prefix, const tenon_ip &gateway, unsigned metric = 0) const noexcept
    {
        return tenon_route_add(stack_.raw(), number_, &dst, prefix, &gateway, metric);
    }
    status join(const tenon_ip &group) const noexcept { return tenon_group_join(stack_.raw(), number_, &group); }
    status leave(const tenon_ip &group) const noexcept { return tenon_group_leave(stack_.raw(), number_, &group); }

  private:
    stack_ref stack_;
    unsigned number_;
};

inline result<netif> stack_ref::add_netif(const tenon_netif_conf &conf) const noexcept
{
    const int number = raw_ ? tenon_netif_add(raw_, &conf) : TENON_ECLOSED;

    return number > 0 ? result<netif>(netif(*this, static_cast<unsigned>(number))) : status(number);
}

inline netif stack_ref::netif_at(unsigned number) const noexcept { return {*this, number}; }

/** The functions of struct tenon_host, made of the member functions of a class:
 *
 *      void *mem_get(std::size_t bytes);
 *      void mem_put(void *mem, std::size_t bytes);
 *      unsigned buf_get(tenon_buf **bufs, unsigned n);
 *      unsigned transmit(unsigned netif, const tenon_frame *frames, unsigned n);
 *      bool entropy(void *bytes, std::size_t n);                                      true: there it is
 *
 *  What each must do stands in tenon/host.h. */
template <class Host> const tenon_host &host_table() noexcept
{
    static constexpr tenon_host table = {
        TENON_HOST_VERSION,
        [](void *host, std::size_t bytes) noexcept -> void * { return static_cast<Host *>(host)->mem_get(bytes); },
        [](void *host, void *mem, std::size_t bytes) noexcept { static_cast<Host *>(host)->mem_put(mem, bytes); },
        [](void *host, tenon_buf **bufs, unsigned n) noexcept -> unsigned {
            return static_cast<Host *>(host)->buf_get(bufs, n);
        },
        [](void *host, unsigned netif, const tenon_frame *frames, unsigned n) noexcept -> unsigned {
            return static_cast<Host *>(host)->transmit(netif, frames, n);
        },
        [](void *host, void *bytes, std::size_t n) noexcept -> int {
            return static_cast<Host *>(host)->entropy(bytes, n) ? 0 : -1;
        },
    };
    return table;
}

/** A configuration with all defaults. */
inline tenon_conf default_conf() noexcept
{
    tenon_conf conf;

    tenon_conf_default(&conf);
    return conf;
}

/** An instance. The destructor is tenon_fini(): connections end without a word to their peers. Not to be destroyed in
 *  a handler. It is empty when closed() tells of its end: nothing can be opened on it any more. */
class stack : public stack_ref
{
  public:
    stack() noexcept = default;
    stack(stack &&other) noexcept : stack_ref(std::exchange(other.raw_, nullptr)), ops_(other.ops_), mem_(other.mem_),
        bytes_(other.bytes_) {}
    stack &operator=(stack &&other) noexcept
    {
        stack taken(std::move(other));

        std::swap(raw_, taken.raw_);
        std::swap(ops_, taken.ops_);
        std::swap(mem_, taken.mem_);
        std::swap(bytes_, taken.bytes_);
        return *this;
    }
    ~stack() { end(); }

    /** Make one, with memory of the host.
     *  @param ops   kept, as is `host`: they must outlive the stack
     *  @param host  handed to the functions of ops
     *  @return TENON_ENOMEM; TENON_EINVAL: a bad configuration (tenon_conf_check()), wrong ops->version, no entropy */
    static result<stack> make(const tenon_host &ops, void *host, const tenon_conf &conf) noexcept
    {
        stack made;

        made.bytes_ = tenon_mem_size(&conf);
        if (made.bytes_ == 0)
            return status(TENON_EINVAL);
        made.ops_ = &ops;
        made.mem_ = ops.mem_get(host, made.bytes_);
        if (made.mem_ == nullptr)
            return status(TENON_ENOMEM);
        made.raw_ = tenon_init(made.mem_, &conf, &ops, host);
        if (made.raw_ == nullptr) {
            ops.mem_put(host, made.mem_, made.bytes_);
            return status(TENON_EINVAL);
        }
        return made;
    }
    /** The same with an object that has the functions of host_table(). */
    template <class Host> static result<stack> make(Host &host, const tenon_conf &conf = default_conf()) noexcept
    {
        return make(host_table<Host>(), &host, conf);
    }

    /** End it now. */
    void end() noexcept
    {
        if (raw_ == nullptr)
            return;
        void *host = tenon_host_of(raw_);
        tenon_fini(std::exchange(raw_, nullptr));
        ops_->mem_put(host, mem_, bytes_);
    }

  private:
    const tenon_host *ops_ = nullptr;
    void *mem_ = nullptr;
    std::size_t bytes_ = 0;
};

/* ---- TCP ------------------------------------------------------------------------------------- */

/** A connection, for those who do not own it: valid until its event closed() has returned. Each function is that of
 *  C with the same name, in tenon/tcp.h. */
class conn
{
  public:
    conn() noexcept = default;
    conn(tenon_tcp *raw) noexcept : raw_(raw) {}

    tenon_tcp *raw() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_ != nullptr; }
    friend bool operator==(conn a, conn b) noexcept { return a.raw_ == b.raw_; }
    friend bool operator!=(conn a, conn b) noexcept { return a.raw_ != b.raw_; }

    /** Queue a span without a copy: all of it, or nothing (TENON_EAGAIN: acked() tells when there is room). */
    status send(const tenon_span &span) const noexcept { return raw_ ? tenon_tcp_send(raw_, &span) : TENON_ECLOSED; }
    status send(const buf &bytes) const noexcept { return send(bytes.span()); }
    status send(const kept &bytes) const noexcept { return send(bytes.span()); }
    /** Queue a copy. @return how many bytes were taken, 0 to n */
    result<tenon_u32> write(const void *bytes, tenon_u32 n) const noexcept
    {
        const tenon_i32 taken = raw_ ? tenon_tcp_write(raw_, bytes, n) : tenon_i32(TENON_ECLOSED);

        return taken >= 0 ? result<tenon_u32>(static_cast<tenon_u32>(taken)) : status(static_cast<int>(taken));
    }
    result<tenon_u32> write(std::string_view text) const noexcept
    {
        return write(text.data(), text.size() < 0x7FFFFFFFU ? static_cast<tenon_u32>(text.size()) : 0x7FFFFFFFU);
    }
    tenon_u32 room() const noexcept { return raw_ ? tenon_tcp_room(raw_) : 0; }
    status mark_urgent() const noexcept { return raw_ ? tenon_tcp_urgent(raw_) : TENON_ECLOSED; }

    /** No more to send: a FIN. To say it twice is harmless. */
    void finish() const noexcept
    {
        if (raw_)
            (void)tenon_tcp_finish(raw_);
    }
    void close() const noexcept
    {
        if (raw_)
            tenon_tcp_close(raw_);
    }
    /** closed() is called before this returns. */
    void abort() const noexcept
    {
        if (raw_)
            tenon_tcp_abort(raw_);
    }

    void consumed(tenon_u32 bytes) const noexcept
    {
        if (raw_)
            tenon_tcp_consumed(raw_, bytes);
    }
    void ack(tenon_u32 bytes) const noexcept
    {
        if (raw_)
            tenon_tcp_ack(raw_, bytes);
    }
    status ack_fin() const noexcept { return raw_ ? tenon_tcp_ack_fin(raw_) : TENON_ECLOSED; }
    /** End a TENON_HOLD; but for TENON_ACCEPT the connection is gone when it returns, without closed(). */
    status decide(tenon_verdict verdict) const noexcept
    {
        return raw_ ? tenon_tcp_decide(raw_, verdict) : TENON_ECLOSED;
    }

    status set(tenon_tcp_option option, tenon_u32 value) const noexcept
    {
        return raw_ ? tenon_tcp_set(raw_, option, value) : TENON_ECLOSED;
    }
    tenon_u32 get(tenon_tcp_option option) const noexcept { return raw_ ? tenon_tcp_get(raw_, option) : 0; }
    /** By its name, "bbr" for example. @return TENON_OK, TENON_EINVAL (there is none), TENON_ENOMEM */
    status set_cc(const char *name) const noexcept
    {
        const tenon_cc_ops *cc = tenon_cc_find(name);

        return !raw_ ? TENON_ECLOSED : cc == nullptr ? TENON_EINVAL : tenon_tcp_set_cc(raw_, cc);
    }

    enum tenon_tcp_state state() const noexcept { return raw_ ? ::tenon_tcp_state(raw_) : TENON_TCP_CLOSED; }
    /** All zero when there is no connection. */
    tenon_tcp_info info() const noexcept
    {
        tenon_tcp_info info = {};

        if (raw_)
            tenon_tcp_status(raw_, &info);
        return info;
    }
    stack_ref stack() const noexcept { return raw_ ? tenon_tcp_stack(raw_) : nullptr; }

  protected:
    tenon_tcp *raw_ = nullptr;
};

class listener;

namespace detail
{
/** The class in which a member function was defined that `&Class::name` has found. */
template <class> struct home;
template <class Function, class Class> struct home<Function Class::*> {
    using type = Class;
};
/** Whether a class has brought its own, or has only what it inherits from Base. */
template <class Member, class Base> inline constexpr bool own = !std::is_same_v<typename home<Member>::type, Base>;
} // namespace detail

/** A connection that is an object of yours: it owns the connection, and its public member functions are the handlers.
 *
 *      class client : public tn::tcp<client>
 *      {
 *        public:
 *          void opened() { (void)write("hello"); }
 *          void received(tn::spans data) { consumed(data.bytes()); }
 *          void closed(tn::status why) { ... }
 *      };
 *
 *  Handlers are those of struct tenon_tcp_events, without the connection, which is the object itself. Those that you
 *  leave out are as NULL there: without finished() the connection is finished when the peer is, without
 *  received() data is consumed and thrown away. When closed() is called the object is empty, and may be destroyed or
 *  connected anew.
 *
 *  The destructor closes (conn::close()), and no handler is called any more: what is queued is still sent. Destroying
 *  the object in one of its handlers is allowed, if the handler touches it no more; but not one that listener::serve()
 *  has made, which is deleted after closed(). Moving it takes the connection along; neither such objects nor any in
 *  their handlers may be moved. */
template <class Derived> class tcp : public conn
{
  public:
    tcp(const tcp &) = delete;
    tcp &operator=(const tcp &) = delete;

    /** tenon_tcp_connect().
     *  @param from  NULL: chosen
     *  @return as there, and TENON_EINVAL: the object has a connection */
    status connect(stack_ref stack, const tenon_addr &to, const tenon_addr *from = nullptr) noexcept
    {
        if (raw_ != nullptr)
            return TENON_EINVAL;
        return stack ? tenon_tcp_connect(stack.raw(), &raw_, from, &to, &table(), this) : TENON_ECLOSED;
    }

    /** Take a connection over, from the handler of a listener for example: from now on it is this object's, and so are
     *  its events. One that it has already is closed. */
    void adopt(conn other) noexcept
    {
        if (other != *this)
            drop();
        raw_ = other.raw();
        if (raw_ != nullptr)
            tenon_tcp_handler(raw_, &table(), this);
    }

    /* What is called when Derived does not say otherwise: nothing. */
    void opened() noexcept {}
    void received(spans) noexcept {}
    void acked(tenon_u32) noexcept {}
    void finished() noexcept {}
    void closed(status) noexcept {}
    void urgent(tenon_u32) noexcept {}
    void soft_error(status) noexcept {}

  protected:
    tcp() noexcept = default;
    tcp(tcp &&other) noexcept : conn() { adopt(other.leave()); }
    tcp &operator=(tcp &&other) noexcept
    {
        if (this != &other)
            adopt(other.leave());
        return *this;
    }
    ~tcp() { drop(); }

  private:
    friend class listener;

    static Derived &self(void *app) noexcept { return *static_cast<Derived *>(static_cast<tcp *>(app)); }

    static void on_closed(tenon_tcp *, void *app, int why) noexcept
    {
        Derived &session = self(app);
        const bool owned = static_cast<tcp &>(session).listeners_;

        static_cast<tcp &>(session).raw_ = nullptr;
        session.closed(status(why));
        if (owned)
            delete &session;
    }

    /** A handler that Derived has not is NULL, which means something. */
    static const tenon_tcp_events &table() noexcept
    {
        static constexpr tenon_tcp_events events = {
            nullptr,
            detail::own<decltype(&Derived::opened), tcp>
                ? +[](tenon_tcp *, void *app) noexcept { self(app).opened(); } : nullptr,
            detail::own<decltype(&Derived::received), tcp>
                ? +[](tenon_tcp *, void *app, const tenon_span *first, unsigned n) noexcept {
                      self(app).received(spans(first, n));
                  } : nullptr,
            detail::own<decltype(&Derived::acked), tcp>
                ? +[](tenon_tcp *, void *app, tenon_u32 bytes) noexcept { self(app).acked(bytes); } : nullptr,
            detail::own<decltype(&Derived::finished), tcp>
                ? +[](tenon_tcp *, void *app) noexcept { self(app).finished(); } : nullptr,
            on_closed,
            detail::own<decltype(&Derived::urgent), tcp>
                ? +[](tenon_tcp *, void *app, tenon_u32 ahead) noexcept { self(app).urgent(ahead); } : nullptr,
            detail::own<decltype(&Derived::soft_error), tcp>
                ? +[](tenon_tcp *, void *app, int error) noexcept { self(app).soft_error(status(error)); } : nullptr,
        };
        return events;
    }

    /** Give the connection to the object that this one is moved into. One that a listener has made would never be
     *  deleted then: it stays where it is. */
    conn leave() noexcept
    {
        TENON_ASSERT(!listeners_);
        return std::exchange(raw_, nullptr);
    }

    /** Close without a further word to Derived. */
    void drop() noexcept
    {
        static constexpr tenon_tcp_events silence = {};

        if (raw_ == nullptr)
            return;
        tenon_tcp_handler(raw_, &silence, nullptr);
        tenon_tcp_close(std::exchange(raw_, nullptr));
    }

    bool listeners_ = false;    /**< made by listener::serve(), and deleted after closed() */
};

/** Handlers for all connections of a listener: a class derives from this and brings those that it wants, as public
 *  member functions. They are those of struct tenon_tcp_events, and what is left out is as NULL there. */
struct tcp_handlers {
    tenon_verdict incoming(conn) noexcept { return TENON_ACCEPT; }
    void opened(conn) noexcept {}
    void received(conn, spans) noexcept {}
    void acked(conn, tenon_u32) noexcept {}
    void finished(conn) noexcept {}
    void closed(conn, status) noexcept {}
    void urgent(conn, tenon_u32) noexcept {}
    void soft_error(conn, status) noexcept {}
};

/** A listening port. The destructor closes it: connections that are not established yet are reset, others stay. */
class listener
{
  public:
    listener() noexcept = default;
    listener(listener &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    listener &operator=(listener &&other) noexcept
    {
        listener taken(std::move(other));

        std::swap(raw_, taken.raw_);
        return *this;
    }
    ~listener() { close(); }

    /** Listen, with one object that hears of all connections.
     *  @param handlers  of a class made of tcp_handlers; kept: must outlive the connections, unless they are
     *                   adopted by others (tcp<>::adopt())
     *  @return as tenon_tcp_listen() */
    template <class Handlers>
    static result<listener> open(stack_ref stack, const tenon_addr &at, Handlers &handlers,
                                 unsigned backlog = 0) noexcept
    {
        static_assert(std::is_base_of_v<tcp_handlers, Handlers>, "derive the handlers from tn::tcp_handlers");
        return begin(stack, at, shared_table<Handlers>(), &handlers, backlog);
    }

    /** Listen, with a new object for each connection: of a class made of tcp<>, taken by new when the connection is
     *  open, deleted when its closed() has returned. A connection for which there is no memory is aborted.
     *  @return as tenon_tcp_listen() */
    template <class Session>
    static result<listener> serve(stack_ref stack, const tenon_addr &at, unsigned backlog = 0) noexcept
    {
        return begin(stack, at, serving_table<Session, void>(), nullptr, backlog);
    }
    /** ... made as Session(context). @param context  kept: must outlive the listener */
    template <class Session, class Context>
    static result<listener> serve_with(stack_ref stack, const tenon_addr &at, Context &context,
                                       unsigned backlog = 0) noexcept
    {
        return begin(stack, at, serving_table<Session, Context>(), &context, backlog);
    }

    explicit operator bool() const noexcept { return raw_ != nullptr; }
    tenon_tcp_listener *raw() const noexcept { return raw_; }
    /** For the connections that it will bring. */
    status set(tenon_tcp_option option, tenon_u32 value) const noexcept
    {
        return raw_ ? tenon_tcp_listener_set(raw_, option, value) : TENON_ECLOSED;
    }
    tenon_addr local() const noexcept
    {
        tenon_addr at = any_at(0);

        if (raw_ != nullptr)
            tenon_tcp_listener_local(raw_, &at);
        return at;
    }
    void close() noexcept
    {
        if (raw_ != nullptr)
            tenon_tcp_listener_close(std::exchange(raw_, nullptr));
    }

  private:
    static result<listener> begin(stack_ref stack, const tenon_addr &at, const tenon_tcp_events &events, void *app,
                                  unsigned backlog) noexcept
    {
        listener made;
        const status said =
            stack ? tenon_tcp_listen(stack.raw(), &made.raw_, &at, &events, app, backlog) : TENON_ECLOSED;

        return said.ok() ? result<listener>(std::move(made)) : said;
    }

    template <class H> static const tenon_tcp_events &shared_table() noexcept
    {
        static constexpr tenon_tcp_events events = {
            detail::own<decltype(&H::incoming), tcp_handlers>
                ? +[](tenon_tcp *raw, void *app) noexcept -> tenon_verdict {
                      return static_cast<H *>(app)->incoming(conn(raw));
                  } : nullptr,
            detail::own<decltype(&H::opened), tcp_handlers>
                ? +[](tenon_tcp *raw, void *app) noexcept { static_cast<H *>(app)->opened(conn(raw)); } : nullptr,
            detail::own<decltype(&H::received), tcp_handlers>
                ? +[](tenon_tcp *raw, void *app, const tenon_span *first, unsigned n) noexcept {
                      static_cast<H *>(app)->received(conn(raw), spans(first, n));
                  } : nullptr,
            detail::own<decltype(&H::acked), tcp_handlers>
                ? +[](tenon_tcp *raw, void *app, tenon_u32 bytes) noexcept {
                      static_cast<H *>(app)->acked(conn(raw), bytes);
                  } : nullptr,
            detail::own<decltype(&H::finished), tcp_handlers>
                ? +[](tenon_tcp *raw, void *app) noexcept { static_cast<H *>(app)->finished(conn(raw)); } : nullptr,
            detail::own<decltype(&H::closed), tcp_handlers>
                ? +[](tenon_tcp *raw, void *app, int why) noexcept {
                      static_cast<H *>(app)->closed(conn(raw), status(why));
                  } : nullptr,
            detail::own<decltype(&H::urgent), tcp_handlers>
                ? +[](tenon_tcp *raw, void *app, tenon_u32 ahead) noexcept {
                      static_cast<H *>(app)->urgent(conn(raw), ahead);
                  } : nullptr,
            detail::own<decltype(&H::soft_error), tcp_handlers>
                ? +[](tenon_tcp *raw, void *app, int error) noexcept {
                      static_cast<H *>(app)->soft_error(conn(raw), status(error));
                  } : nullptr,
        };
        return events;
    }

    template <class Session, class Context> static Session *session(void *context) noexcept
    {
        if constexpr (std::is_void_v<Context>)
            return new (std::nothrow) Session();
        else
            return new (std::nothrow) Session(*static_cast<Context *>(context));
    }

    template <class Session, class Context> static const tenon_tcp_events &serving_table() noexcept
    {
        static_assert(std::is_base_of_v<tcp<Session>, Session>, "derive the session from tn::tcp<Session>");
        static constexpr tenon_tcp_events events = {
            nullptr,
            [](tenon_tcp *raw, void *app) noexcept {
                Session *made = session<Session, Context>(app);

                if (made == nullptr) {
                    tenon_tcp_abort(raw);
                    return;
                }
                static_cast<tcp<Session> *>(made)->listeners_ = true;
                made->adopt(conn(raw));
                made->opened();
            },
            nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        };
        return events;
    }

    tenon_tcp_listener *raw_ = nullptr;
};

/* ---- UDP ------------------------------------------------------------------------------------- */

/** A socket, for those who do not own it. Each function is that of C with the same name, in tenon/udp.h. */
class udp_ref
{
  public:
    udp_ref() noexcept = default;
    udp_ref(tenon_udp *raw) noexcept : raw_(raw) {}

    tenon_udp *raw() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_ != nullptr; }

    status bind(const tenon_addr &at) const noexcept { return raw_ ? tenon_udp_bind(raw_, &at) : TENON_ECLOSED; }
    status connect(const tenon_addr &to) const noexcept { return raw_ ? tenon_udp_connect(raw_, &to) : TENON_ECLOSED; }
    /** No peer any more. */
    status disconnect() const noexcept { return raw_ ? tenon_udp_connect(raw_, nullptr) : TENON_ECLOSED; }

    /** One datagram, without a copy. Without `to`: on a connected socket. */
    status send(const tenon_addr &to, spans data) const noexcept
    {
        return raw_ ? tenon_udp_send(raw_, &to, data.begin(), data.size()) : TENON_ECLOSED;
    }
    status send(spans data) const noexcept
    {
        return raw_ ? tenon_udp_send(raw_, nullptr, data.begin(), data.size()) : TENON_ECLOSED;
    }
    /** The answer to a datagram, from the address that was asked; from one of ours, if that was a group or a broadcast
     *  (RFC 1122 4.1.3.5). */
    status reply(const tenon_udp_info &asked, spans data) const noexcept
    {
        const status said =
            raw_ ? tenon_udp_send_from(raw_, &asked.to.ip, &asked.from, data.begin(), data.size()) : TENON_ECLOSED;

        return said == TENON_ENOADDR ? send(asked.from, data) : said;
    }
    /** One datagram, copied. */
    status write(const tenon_addr &to, std::string_view text) const noexcept { return write_to(&to, text); }
    status write(std::string_view text) const noexcept { return write_to(nullptr, text); }

    status set(tenon_udp_option option, tenon_u32 value) const noexcept
    {
        return raw_ ? tenon_udp_set(raw_, option, value) : TENON_ECLOSED;
    }
    tenon_addr local() const noexcept
    {
        tenon_addr at = any_at(0);

        if (raw_ != nullptr)
            tenon_udp_local(raw_, &at);
        return at;
    }
    tenon_addr remote() const noexcept
    {
        tenon_addr at = any_at(0);

        if (raw_ != nullptr)
            tenon_udp_remote(raw_, &at);
        return at;
    }

  protected:
    tenon_udp *raw_ = nullptr;

  private:
    status write_to(const tenon_addr *to, std::string_view text) const noexcept
    {
        if (text.size() > 0xFFFF)
            return TENON_EMSGSIZE;
        return raw_ ? tenon_udp_write(raw_, to, text.data(), static_cast<tenon_u32>(text.size())) : TENON_ECLOSED;
    }
};

/** Handlers of sockets: a class derives from this and brings those that it wants, as public member functions. */
struct udp_handlers {
    void received(udp_ref, const tenon_udp_info &, spans) noexcept {}
    void error(udp_ref, const tenon_addr &, status) noexcept {}
};

/** A socket. The destructor closes it, also in its own handler; no event comes after that. */
class udp : public udp_ref
{
  public:
    udp() noexcept = default;
    udp(udp &&other) noexcept : udp_ref(std::exchange(other.raw_, nullptr)) {}
    udp &operator=(udp &&other) noexcept
    {
        udp taken(std::move(other));

        std::swap(raw_, taken.raw_);
        return *this;
    }
    ~udp() { close(); }

    /** @param handlers  of a class made of udp_handlers; kept: must outlive the socket
     *  @return TENON_ENOMEM, TENON_ELIMIT */
    template <class Handlers> static result<udp> open(stack_ref stack, Handlers &handlers) noexcept
    {
        static_assert(std::is_base_of_v<udp_handlers, Handlers>, "derive the handlers from tn::udp_handlers");
        static constexpr tenon_udp_events events = {
            [](tenon_udp *raw, void *app, const tenon_udp_info *info, const tenon_span *first, unsigned n) noexcept {
                static_cast<Handlers *>(app)->received(udp_ref(raw), *info, spans(first, n));
            },
            [](tenon_udp *raw, void *app, const tenon_addr *to, int error) noexcept {
                static_cast<Handlers *>(app)->error(udp_ref(raw), *to, status(error));
            },
        };
        udp made;
        const status said = stack ? tenon_udp_open(stack.raw(), &made.raw_, &events, &handlers) : TENON_ECLOSED;

        return said.ok() ? result<udp>(std::move(made)) : said;
    }

    void close() noexcept
    {
        if (raw_ != nullptr)
            tenon_udp_close(std::exchange(raw_, nullptr));
    }
};

} // namespace tn

#endif
