/* SPDX-License-Identifier: MIT */
/* Generic netlink: the number of a family has to be asked for first. Names as in linux/netdev.h, which comes with newer
 * kernels. */
#include "netdev.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

enum {
    NETDEV_CMD_DEV_GET = 1,
    NETDEV_A_DEV_IFINDEX = 1,
    NETDEV_A_DEV_XDP_ZC_MAX_SEGS = 4,
    NETDEV_A_DEV_XSK_FEATURES = 6
};
enum { NETDEV_XSK_FLAGS_TX_CHECKSUM = 1 << 1 };

enum { ANSWER_MAX = 4096, VALUE_MAX = 8 };

/* The macros of the kernel's headers are of type int. */
#define HEADS (sizeof(struct nlmsghdr) + sizeof(struct genlmsghdr))
#define PADDED(n) (((n) + 3U) & ~3U)

/* A request with one attribute. The kernel has answered when send() returns.
 * @return bytes of the answer; 0: none */
static size_t ask(int fd, unsigned family, unsigned command, unsigned kind, const void *value, unsigned bytes,
                  void *answer)
{
    struct {
        struct nlmsghdr header;
        struct genlmsghdr what;
        struct nlattr attribute;
        uint8_t value[VALUE_MAX];
    } request = { .header = { HEADS + sizeof(struct nlattr) + PADDED(bytes), (__u16)family, NLM_F_REQUEST, 1, 0 },
                  .what = { (__u8)command, 1, 0 },
                  .attribute = { (__u16)(sizeof(struct nlattr) + bytes), (__u16)kind } };
    ssize_t n;

    memcpy(request.value, value, bytes);
    if (send(fd, &request, request.header.nlmsg_len, 0) < 0)
        return 0;
    n = recv(fd, answer, ANSWER_MAX, MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

/* The value of an attribute, if the answer has it in this size.
 * @return whether it has */
static int attribute(const void *answer, size_t bytes, unsigned kind, void *value, unsigned value_bytes)
{
    const uint8_t *at = answer;
    struct nlmsghdr header;
    struct nlattr attr;
    size_t off = HEADS;

    if (bytes < off)
        return 0;
    memcpy(&header, at, sizeof header);
    bytes = header.nlmsg_len < bytes ? header.nlmsg_len : bytes;
    for (; header.nlmsg_type != NLMSG_ERROR && off + sizeof attr <= bytes; off += PADDED(attr.nla_len)) {
        memcpy(&attr, at + off, sizeof attr);
        if (attr.nla_len < sizeof attr || attr.nla_len > bytes - off)
            return 0;
        if ((attr.nla_type & NLA_TYPE_MASK) == kind && attr.nla_len == sizeof attr + value_bytes) {
            memcpy(value, at + off + sizeof attr, value_bytes);
            return 1;
        }
    }
    return 0;
}

void port_netdev_read(const void *answer, size_t bytes, struct port_netdev *driver)
{
    __u64 features = 0;
    __u32 pieces = 1, interface;

    driver->answers = attribute(answer, bytes, NETDEV_A_DEV_IFINDEX, &interface, sizeof interface);
    (void)attribute(answer, bytes, NETDEV_A_DEV_XSK_FEATURES, &features, sizeof features);
    (void)attribute(answer, bytes, NETDEV_A_DEV_XDP_ZC_MAX_SEGS, &pieces, sizeof pieces);
    driver->pieces_max = pieces > 0 ? pieces : 1;
    driver->completes_sums = (features & NETDEV_XSK_FLAGS_TX_CHECKSUM) != 0;
}

void port_netdev_ask(unsigned interface, struct port_netdev *driver)
{
    const __u32 number = interface;
    uint8_t answer[ANSWER_MAX];
    __u16 family;
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    size_t n = 0;

    if (fd >= 0) {
        n = ask(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, "netdev", sizeof "netdev", answer);
        if (attribute(answer, n, CTRL_ATTR_FAMILY_ID, &family, sizeof family))
            n = ask(fd, family, NETDEV_CMD_DEV_GET, NETDEV_A_DEV_IFINDEX, &number, sizeof number, answer);
        else
            n = 0;
        close(fd);
    }
    port_netdev_read(answer, n, driver);
}
