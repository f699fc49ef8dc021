/* SPDX-License-Identifier: MIT */
/* Errors as English. */
#include <tenon/types.h>

const char *tenon_error_text(int error)
{
    switch (error) {
    case TENON_OK:
        return "no error";
    case TENON_EINVAL:
        return "wrong argument, or wrong call in this state";
    case TENON_ENOMEM:
        return "out of memory or packet buffers";
    case TENON_EAGAIN:
        return "queue full, try again later";
    case TENON_ECLOSED:
        return "already closed";
    case TENON_EINUSE:
        return "address and port already in use";
    case TENON_ENOADDR:
        return "not one of our addresses";
    case TENON_EUNREACH:
        return "destination unreachable";
    case TENON_EREFUSED:
        return "connection refused";
    case TENON_ERESET:
        return "connection reset by the peer";
    case TENON_ETIMEOUT:
        return "the peer does not answer";
    case TENON_EMSGSIZE:
        return "message too long";
    case TENON_EABORTED:
        return "connection aborted by this side";
    case TENON_ELIMIT:
        return "a configured limit is reached";
    case TENON_EPROTO:
        return "the peer broke the protocol";
    case TENON_EACCES:
        return "not permitted";
    default:
        return "unknown error";
    }
}
