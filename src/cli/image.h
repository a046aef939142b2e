/* image.h: the verb `halter image BZIMAGE ELF`. */
#ifndef HALTER_IMAGE_H
#define HALTER_IMAGE_H

/* `argv[0]` is the verb's name. Returns the exit status: 0, 1 for what went wrong, 2 for usage. */
int halter_image_main(int argc, char **argv);

#endif
