/*
 * start.S: the payload's first bytes, the way into a case and the way back out of it. A case is left
 * through an interrupt or exception only: all 256 vectors come to `common`, which keeps everything
 * for capture() and goes back to whoever called enter().
 */
        .intel_syntax noprefix
        .section .text.start, "ax"
        .code32
        .globl  start
header:
        .long   0x1badb002, 0, -0x1badb002      /* a multiboot header */
start:
        cli
        mov     esp, offset kernel_stack_top
        mov     edi, offset end_of_image
        mov     ecx, offset end_of_bss
        sub     ecx, edi
        xor     eax, eax
        cld
        rep     stosb
        fninit
        call    main
1:      cli
        hlt
        jmp     1b

        .text
/* void enter(const uint32_t popad[8], const uint32_t *frame, const uint16_t data[4]): ES DS FS GS. */
        .globl  enter
enter:
        pushad
        mov     [saved_esp], esp
        mov     ebx, [esp + 36]
        mov     eax, [esp + 40]
        mov     [frame_at], eax
        mov     edx, [esp + 44]
        mov     esp, ebx
        mov     es, [edx]
        mov     fs, [edx + 4]
        mov     gs, [edx + 6]
        mov     ds, [edx + 2]
        popad
        mov     esp, cs:[frame_at]
        iret

common:
        pushad
        push    ds
        push    es
        push    fs
        push    gs
        mov     ax, 0x18
        mov     ds, ax
        mov     es, ax
        xor     ecx, ecx
1:      mov     eax, ss:[esp + ecx * 4]
        mov     [kept + ecx * 4], eax
        inc     ecx
        cmp     ecx, 23
        jb      1b
        mov     [kept_ss], ss
        lss     esp, [saved_esp]
        xor     eax, eax
        mov     fs, ax
        mov     gs, ax
        cld
        call    capture
        popad
        ret

        .globl  vector_stubs
        .balign 16
vector_stubs:                                   /* 16 bytes each */
        .set    n, 0
        .rept   256
        .balign 16
        push    n
        jmp     common
        .set    n, n + 1
        .endr

        .data
        .globl  saved_esp, kept, kept_ss
        .balign 16
saved_esp:
        .long   0
        .word   0x18, 0
frame_at:
        .long   0
kept_ss:
        .long   0
kept:   .fill   23, 4, 0

        .bss
        .balign 16
        .skip   8192
kernel_stack_top:

        .section .note.GNU-stack, "", @progbits
