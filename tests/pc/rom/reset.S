/*
 * reset.S: the payload as a BIOS image of 64 KB, for machines that start at FFFF:FFF0 and load
 * nothing: enters protected mode, opens A20, copies the payload from F0000h to 1 MB and goes there.
 */
        .intel_syntax noprefix
        .section .text
        .code32
image:
        .incbin PAYLOAD
        .org 0xff00
        .code16
entry16:
        cli
        in      al, 0x92
        or      al, 2
        and     al, 0xfe
        out     0x92, al
        .byte   0x2e, 0x66, 0x0f, 0x01, 0x16   /* o32 lgdt cs:[the_table] */
        .word   the_table - image
        mov     eax, cr0
        or      al, 1
        mov     cr0, eax
        .byte   0x66, 0xea                      /* o32 jmp 10h:in_flat */
        .long   in_flat - image + 0xf0000
        .word   0x10
        .code32
in_flat:
        mov     ax, 0x18
        mov     ds, ax
        mov     es, ax
        mov     ss, ax
        mov     esi, 0xf0000
        mov     edi, 0x100000
        mov     ecx, 0xff00 / 4
        cld
        rep     movsd
        mov     eax, 0x10000c                   /* start, behind the header of start.S */
        jmp     eax
the_table:
        .word   31
        .long   gdt - image + 0xf0000
        .balign 8
gdt:
        .quad   0, 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
        .org 0xfff0
        .code16
        .byte   0xea                            /* jmp f000:entry16 */
        .word   entry16 - image
        .word   0xf000
        .org 0x10000

        .section .note.GNU-stack, "", @progbits
