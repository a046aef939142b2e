/* disk.h: what a disk is to the machine, and what the machine asks of its host for it. */
#ifndef PC_DISK_H
#define PC_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define PC_DISKS     4
#define PC_DISK_NAME 20

struct pc_disk {
    uint64_t bytes; /* a multiple of 512; 0: there is no disk here */
    bool read_only;
    char name[PC_DISK_NAME]; /* what the guest reads as its serial number; NUL-padded */
    /* Which content it has: a snapshot is only loaded beside the disks that it was saved beside. Any
     * number that changes when the disk is written by anybody else; see pc_disk_identify. */
    uint64_t identity;
};

/* The numbers are part of snapshots and recordings. */
enum pc_block_op {
    PC_BLOCK_READ = 1,
    PC_BLOCK_WRITE = 2,
    PC_BLOCK_FLUSH = 3,   /* what was written before is durable when this is answered */
    PC_BLOCK_DISCARD = 4, /* the content is of no interest any more */
    PC_BLOCK_ZERO = 5,    /* reads as zeros from now on */
};

enum pc_block_result { PC_BLOCK_GOOD = 0, PC_BLOCK_ERROR = 1, PC_BLOCK_UNSUPPORTED = 2 };

struct pc_block_request {
    enum pc_block_op op;
    uint64_t offset, bytes; /* whole sectors of 512 bytes, within the disk; 0 for a flush */
};

#endif
