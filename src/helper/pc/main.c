/* main.c: halter-pc, the program in which a PC lives: a helper of libhalter. */
#include "serve.h"

int main(int argc, char **argv)
{
    return serve(argc, argv);
}
