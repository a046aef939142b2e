/* block.c: see block.h. */
#include "block.h"

#include <string.h>

#define FEATURE_SEG_MAX      (UINT64_C(1) << 2)
#define FEATURE_RO           (UINT64_C(1) << 5)
#define FEATURE_BLK_SIZE     (UINT64_C(1) << 6)
#define FEATURE_FLUSH        (UINT64_C(1) << 9)
#define FEATURE_DISCARD      (UINT64_C(1) << 13)
#define FEATURE_WRITE_ZEROES (UINT64_C(1) << 14)

/* struct virtio_blk_config, 5.2.4. */
enum {
    CAPACITY = 0,
    SEG_MAX = 12,
    BLK_SIZE = 20,
    MAX_DISCARD_SECTORS = 36,
    MAX_DISCARD_SEG = 40,
    DISCARD_ALIGNMENT = 44,
    MAX_ZERO_SECTORS = 48,
    MAX_ZERO_SEG = 52,
    ZERO_MAY_UNMAP = 56,
    CONFIG_BYTES = 60,
};

/* Types of requests, 5.2.6. */
enum { IN = 0, OUT = 1, FLUSH = 4, GET_ID = 8, DISCARD = 11, WRITE_ZEROES = 13 };

#define HEADER_BYTES 16u
#define RANGE_BYTES  16u /* struct virtio_blk_discard_write_zeroes */
#define RANGE_UNMAP  1u
#define ZERO_SECTORS (1u << 15)

/* What a request takes: a fast disk that moves 1 GB a second, and 200 us to make it durable. */
#define START_NS    4000u
#define REQUEST_NS  16000u
#define FLUSH_NS    200000u
#define BYTES_PER_NS 1u

static struct block *of(struct virtio *virtio)
{
    return (struct block *)virtio;
}

static void begin(struct block *block)
{
    block->stage = BLOCK_RUNG;
    clock_at(block->clock, &block->start, clock_now(block->clock) + START_NS);
}

static void rung(struct virtio *virtio, unsigned queue)
{
    (void)queue;
    if (of(virtio)->stage == BLOCK_IDLE)
        begin(of(virtio));
}

/* ---- The end of a request ----------------------------------------------------------------- */

static void give(struct block *block, uint32_t written)
{
    uint8_t status = block->result;
    uint64_t last = virtq_writable_bytes(&block->chain) - 1;

    virtq_write(&block->chain, &block->virtio.dma, last, &status, 1);
    virtio_give(&block->virtio, 0, block->chain.head, written + 1);
}

static void memory_was_written(struct block *block)
{
    const struct dma *dma = &block->virtio.dma;

    for (unsigned i = block->chain.readable; i < block->chain.count; i++)
        dma->written(dma->opaque, block->chain.segment[i].address, block->chain.segment[i].bytes);
}

static void finish_due(void *device)
{
    struct block *block = device;

    if (block->stage != BLOCK_ANSWERED) {
        block->late = true;
        return;
    }
    block->stage = BLOCK_IDLE;
    give(block, block->op == PC_BLOCK_READ && !block->result ? (uint32_t)block->bytes : 0);
    if (virtio_waits(&block->virtio, 0))
        begin(block);
}

void block_done(struct block *block, enum pc_block_result result)
{
    if (block->stage != BLOCK_WITH_HOST)
        return;
    if (block->op == PC_BLOCK_READ)
        memory_was_written(block);
    block->stage = BLOCK_ANSWERED;
    block->result = (uint8_t)result;
    if (block->late)
        clock_at(block->clock, &block->finish, clock_now(block->clock));
    block->late = false;
}

bool block_is_with_host(const struct block *block)
{
    return block->stage == BLOCK_WITH_HOST;
}

/* Where the data of the request are within the chain: behind the header, or before the status. */
uint8_t *block_data(struct block *block, uint64_t offset, uint32_t *bytes)
{
    const struct virtq_chain *chain = &block->chain;
    bool reads = block->op == PC_BLOCK_READ;
    uint64_t left = offset < block->bytes ? block->bytes - offset : 0;
    uint64_t at = reads ? offset : HEADER_BYTES + offset;

    if (block->stage != BLOCK_WITH_HOST || (!reads && block->op != PC_BLOCK_WRITE) || !left)
        return NULL;
    for (unsigned i = reads ? chain->readable : 0; i < chain->count; i++) {
        const struct virtq_segment *segment = &chain->segment[i];

        if (at < segment->bytes) {
            uint64_t here = segment->bytes - at;

            *bytes = (uint32_t)(here < left ? here : left);
            return block->virtio.dma.ram + segment->address + at;
        }
        at -= segment->bytes;
    }
    return NULL;
}

/* ---- What is asked for -------------------------------------------------------------------- */

/* How it goes on with a request that was read: to the host, or back at once. */
enum verdict { TO_HOST, ANSWER, MALFORMED };

static bool within(const struct block *block, uint64_t sector, uint64_t bytes)
{
    return sector <= block->disk.bytes / BLOCK_SECTOR && bytes % BLOCK_SECTOR == 0 &&
           bytes <= block->disk.bytes - sector * BLOCK_SECTOR;
}

static enum verdict answer(struct block *block, enum pc_block_result result)
{
    block->result = (uint8_t)result;
    return ANSWER;
}

static enum verdict transfer(struct block *block, enum pc_block_op op, uint64_t sector,
                             uint64_t bytes)
{
    if (op == PC_BLOCK_WRITE && block->disk.read_only)
        return answer(block, PC_BLOCK_ERROR);
    if (!within(block, sector, bytes) || bytes > BLOCK_MAX_BYTES)
        return answer(block, PC_BLOCK_ERROR);
    block->op = (uint8_t)op;
    block->offset = sector * BLOCK_SECTOR;
    block->bytes = bytes;
    return bytes ? TO_HOST : answer(block, PC_BLOCK_GOOD);
}

/* One range: MAX_DISCARD_SEG and MAX_ZERO_SEG say so. */
static enum verdict clear(struct block *block, enum pc_block_op op)
{
    uint8_t range[RANGE_BYTES];
    uint32_t flags;

    if (virtq_readable_bytes(&block->chain) != HEADER_BYTES + RANGE_BYTES)
        return answer(block, PC_BLOCK_UNSUPPORTED);
    virtq_read(&block->chain, &block->virtio.dma, HEADER_BYTES, range, RANGE_BYTES);
    flags = pci_get(range + 12, 4);
    if (flags & ~RANGE_UNMAP || (op == PC_BLOCK_DISCARD && flags))
        return answer(block, PC_BLOCK_UNSUPPORTED);

    uint64_t sector = pci_get(range, 4) | (uint64_t)pci_get(range + 4, 4) << 32;
    uint64_t bytes = (uint64_t)pci_get(range + 8, 4) * BLOCK_SECTOR;
    if (block->disk.read_only || !within(block, sector, bytes) ||
        bytes > (uint64_t)ZERO_SECTORS * BLOCK_SECTOR)
        return answer(block, PC_BLOCK_ERROR);
    block->op = (uint8_t)op;
    block->offset = sector * BLOCK_SECTOR;
    block->bytes = bytes;
    return bytes ? TO_HOST : answer(block, PC_BLOCK_GOOD);
}

static enum verdict name(struct block *block)
{
    if (virtq_writable_bytes(&block->chain) < PC_DISK_NAME + 1)
        return answer(block, PC_BLOCK_ERROR);
    virtq_write(&block->chain, &block->virtio.dma, 0, block->disk.name, PC_DISK_NAME);
    return answer(block, PC_BLOCK_GOOD);
}

/* The header, and a byte for the status at the end, are what every request has. */
static enum verdict understand(struct block *block)
{
    const struct virtq_chain *chain = &block->chain;
    uint64_t readable = virtq_readable_bytes(chain), writable = virtq_writable_bytes(chain);
    uint8_t header[HEADER_BYTES];

    if (readable < HEADER_BYTES || writable < 1)
        return MALFORMED;
    virtq_read(chain, &block->virtio.dma, 0, header, HEADER_BYTES);

    uint64_t sector = pci_get(header + 8, 4) | (uint64_t)pci_get(header + 12, 4) << 32;
    switch (pci_get(header, 4)) {
    case IN:
        return transfer(block, PC_BLOCK_READ, sector, writable - 1);
    case OUT:
        return transfer(block, PC_BLOCK_WRITE, sector, readable - HEADER_BYTES);
    case FLUSH:
        block->op = PC_BLOCK_FLUSH;
        return TO_HOST;
    case GET_ID:
        return name(block);
    case DISCARD:
        return clear(block, PC_BLOCK_DISCARD);
    case WRITE_ZEROES:
        return clear(block, PC_BLOCK_ZERO);
    default:
        return answer(block, PC_BLOCK_UNSUPPORTED);
    }
}

static uint64_t duration(const struct block *block, enum verdict verdict)
{
    if (verdict == ANSWER)
        return 0;
    if (block->op == PC_BLOCK_FLUSH)
        return FLUSH_NS;
    return REQUEST_NS + (block->op <= PC_BLOCK_WRITE ? block->bytes / BYTES_PER_NS : 0);
}

static void hand_out(struct block *block)
{
    struct pc_block_request request = {(enum pc_block_op)block->op, block->offset, block->bytes};

    if (block->handle)
        block->handle(block->opaque, block->number, &request);
    else
        block_done(block, PC_BLOCK_ERROR);
}

static void start_due(void *device)
{
    struct block *block = device;
    enum verdict verdict;

    block->stage = BLOCK_IDLE;
    block->late = false;
    block->op = 0;
    block->offset = block->bytes = 0;
    if (!virtio_take(&block->virtio, 0, &block->chain))
        return;
    verdict = understand(block);
    if (verdict == MALFORMED) {
        virtio_break(&block->virtio, "a request without a header or a status");
        return;
    }
    block->stage = verdict == TO_HOST ? BLOCK_WITH_HOST : BLOCK_ANSWERED;
    clock_at(block->clock, &block->finish,
             clock_now(block->clock) + duration(block, verdict));
    if (verdict == TO_HOST)
        hand_out(block);
}

void block_loaded(struct block *block)
{
    if (block->stage == BLOCK_WITH_HOST)
        hand_out(block);
}

/* ---- The device --------------------------------------------------------------------------- */

/* What is with the host ends there; its answer then finds nothing. */
static void device_reset(struct virtio *virtio)
{
    struct block *block = of(virtio);

    block->stage = BLOCK_IDLE;
    block->late = false;
    clock_cancel(block->clock, &block->start);
    clock_cancel(block->clock, &block->finish);
}

static const struct virtio_kind kind = {
    .type = VIRTIO_BLOCK,
    .class_code = 0x018000,
    .queues = 1,
    .config_bytes = CONFIG_BYTES,
    .rung = rung,
    .reset = device_reset,
};

static void reset(void *device)
{
    virtio_bus_reset(device);
}

static void describe(struct block *block)
{
    uint8_t *config = block->virtio.config;

    pci_put(config + CAPACITY, 8, block->disk.bytes / BLOCK_SECTOR);
    pci_put(config + SEG_MAX, 4, VIRTQ_SIZE - 2);
    pci_put(config + BLK_SIZE, 4, BLOCK_SECTOR);
    pci_put(config + MAX_DISCARD_SECTORS, 4, ZERO_SECTORS);
    pci_put(config + MAX_DISCARD_SEG, 4, 1);
    pci_put(config + DISCARD_ALIGNMENT, 4, 8);
    pci_put(config + MAX_ZERO_SECTORS, 4, ZERO_SECTORS);
    pci_put(config + MAX_ZERO_SEG, 4, 1);
    config[ZERO_MAY_UNMAP] = 1;
}

/* The chain was checked when it was taken, and here it comes from a file. */
static bool chain_is_sound(const struct block *block)
{
    const struct virtq_chain *chain = &block->chain;

    if (chain->count > VIRTQ_SIZE || chain->readable > chain->count)
        return false;
    for (unsigned i = 0; i < chain->count; i++)
        if (!dma_holds(&block->virtio.dma, chain->segment[i].address, chain->segment[i].bytes))
            return false;
    return true;
}

static bool request_is_sound(const struct block *block)
{
    uint64_t readable = virtq_readable_bytes(&block->chain);
    uint64_t writable = virtq_writable_bytes(&block->chain);

    if (readable < HEADER_BYTES || writable < 1 || !within(block, 0, block->offset) ||
        !within(block, block->offset / BLOCK_SECTOR, block->bytes) ||
        block->result > PC_BLOCK_UNSUPPORTED || block->op > PC_BLOCK_ZERO || !block->virtio.queue[0].enabled)
        return false;
    return (block->op != PC_BLOCK_READ || block->bytes == writable - 1) &&
           (block->op != PC_BLOCK_WRITE || block->bytes == readable - HEADER_BYTES) &&
           (block->op < PC_BLOCK_WRITE || !block->disk.read_only || block->op == PC_BLOCK_FLUSH);
}

static bool loaded(void *device)
{
    struct block *block = device;
    bool under_way = block->stage == BLOCK_WITH_HOST || block->stage == BLOCK_ANSWERED;

    describe(block);
    if (!virtio_loaded(&block->virtio) || block->stage > BLOCK_ANSWERED || !chain_is_sound(block))
        return false;
    if (under_way && !request_is_sound(block))
        return false;
    if (block->start.armed != (block->stage == BLOCK_RUNG) ||
        (block->finish.armed && !under_way) ||
        (under_way && !block->finish.armed && !block->late))
        return false;
    return true;
}

static const struct pc_field segment_fields[] = {
    FIELD(struct virtq_segment, address),
    FIELD(struct virtq_segment, bytes),
    FIELD_END,
};

static const struct pc_field chain_fields[] = {
    FIELD(struct virtq_chain, head),
    FIELD(struct virtq_chain, readable),
    FIELD(struct virtq_chain, count),
    FIELD_STRUCTS_OF(struct virtq_chain, segment, segment_fields),
    FIELD_END,
};

static const struct pc_field fields[] = {
    FIELD_STRUCT_OF(struct block, virtio, virtio_fields),
    FIELD(struct block, stage),
    FIELD(struct block, late),
    FIELD(struct block, op),
    FIELD(struct block, result),
    FIELD(struct block, offset),
    FIELD(struct block, bytes),
    FIELD_STRUCT_OF(struct block, chain, chain_fields),
    FIELD_END,
};

#define CHIP(number)                                                                               \
    {                                                                                              \
        .name = "disk " number, .version = 1, .fields = fields, .reset = reset, .loaded = loaded   \
    }

const struct chip block_chip[PC_DISKS] = {CHIP("0"), CHIP("1"), CHIP("2"), CHIP("3")};

void block_init(struct block *block, unsigned number, const struct pc_disk *disk,
                struct clock *clock, const struct dma *dma,
                void (*handle)(void *opaque, unsigned number, const struct pc_block_request *request),
                void *opaque)
{
    static const char *const names[PC_DISKS][2] = {{"disk 0 start", "disk 0 finish"},
                                                      {"disk 1 start", "disk 1 finish"},
                                                      {"disk 2 start", "disk 2 finish"},
                                                      {"disk 3 start", "disk 3 finish"}};
    uint64_t features = FEATURE_SEG_MAX | FEATURE_BLK_SIZE | FEATURE_FLUSH;

    memset(block, 0, sizeof *block);
    features |= disk->read_only ? FEATURE_RO : FEATURE_DISCARD | FEATURE_WRITE_ZEROES;
    virtio_init(&block->virtio, &kind, features, dma);
    block->number = number;
    block->disk = *disk;
    block->clock = clock;
    block->handle = handle;
    block->opaque = opaque;
    clock_add(clock, &block->start, names[number][0], start_due, block);
    clock_add(clock, &block->finish, names[number][1], finish_due, block);
    describe(block);
}
