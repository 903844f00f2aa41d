#include "textflag.h"

// func indexBlocks(text, beside *byte, n int, lower, fold, lowerBeside, foldBeside uint64) int
//
// X0 to X3 have the bytes of the pair 16 times. A byte of X4 and of X6 is all ones where both bytes stand.
TEXT ·indexBlocks(SB), NOSPLIT, $0-64
	MOVQ       text+0(FP), SI
	MOVQ       beside+8(FP), DI
	MOVQ       n+16(FP), CX
	MOVQ       lower+24(FP), X0
	MOVQ       fold+32(FP), X1
	MOVQ       lowerBeside+40(FP), X2
	MOVQ       foldBeside+48(FP), X3
	PUNPCKLQDQ X0, X0
	PUNPCKLQDQ X1, X1
	PUNPCKLQDQ X2, X2
	PUNPCKLQDQ X3, X3
	XORQ       DX, DX

block:
	CMPQ     DX, CX
	JGE      none
	MOVOU    (SI)(DX*1), X4
	MOVOU    (DI)(DX*1), X5
	MOVOU    16(SI)(DX*1), X6
	MOVOU    16(DI)(DX*1), X7
	POR      X1, X4
	POR      X3, X5
	POR      X1, X6
	POR      X3, X7
	PCMPEQB  X0, X4
	PCMPEQB  X2, X5
	PCMPEQB  X0, X6
	PCMPEQB  X2, X7
	PAND     X5, X4
	PAND     X7, X6
	MOVOU    X4, X5
	POR      X6, X5
	PMOVMSKB X5, AX
	ADDQ     $32, DX
	TESTL    AX, AX
	JZ       block
	PMOVMSKB X4, AX
	SUBQ     $32, DX
	TESTL    AX, AX
	JNZ      found
	PMOVMSKB X6, AX
	ADDQ     $16, DX

found:
	BSFL AX, AX
	ADDQ DX, AX
	MOVQ AX, ret+56(FP)
	RET

none:
	MOVQ CX, ret+56(FP)
	RET
