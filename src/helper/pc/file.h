/* file.h: a descriptor as what a machine is saved to and loaded from, with one buffer between. */
#ifndef HALTER_PC_FILE_H
#define HALTER_PC_FILE_H

#include "pc/field.h"

#define FILE_BUFFER (64u << 10)

struct file {
    int fd, error;              /* errno of what failed */
    uint64_t bytes;             /* that went through */
    void (*tick)(void *opaque); /* after every few megabytes; or NULL */
    void *opaque;
    uint64_t ticked;
    size_t start, end;
    uint8_t buffer[FILE_BUFFER];
};

/* From the file's beginning on. */
void file_init(struct file *file, int fd);
struct pc_writer file_writer(struct file *file);
struct pc_reader file_reader(struct file *file);
/* Writes what is still in the buffer. False when anything was not written. */
bool file_flush(struct file *file);

#endif
