/* Initialization and zeroing of sequences. */

#include "exec/sequence.h"

#include <string.h>

#include "build_constants.h"
#include "exec/exec.h"

void ctn_sequence_clear(const ctn_exec_t *exec, ctn_sequence_t *sequence)
{
    if (!ctn_exec_may_free(exec)) {
        return;
    }
    memset(sequence->slots, 0,
           (size_t)sequence->used_slots * sequence->generations *
               sizeof(ctn_slot_t));
    sequence->used_slots = 0;
}

/** Zero the words of a generation in all slots that were used. */
static void zero_words(ctn_sequence_t *sequence, unsigned generation)
{
    for (unsigned slot = 0; slot < sequence->used_slots; slot++) {
        ctn_slot_t *at =
            &sequence->slots[slot * sequence->generations + generation];
        for (unsigned word = 0; word < CTN_EAGER_FRAGMENTS; word++) {
            ctn_word_store(&at->word[word], 0);
        }
    }
}

void ctn_sequence_zero_old(ctn_exec_t *exec, ctn_sequence_t *sequence,
                           uint64_t seq)
{
    enum { BARRIER_B = 1, BARRIER_C = 2 };
    uint64_t place = ctn_epoch_place(seq);
    if ((place != BARRIER_B && place != BARRIER_C) ||
        !ctn_sequence_has_epochs(sequence)) {
        return;
    }
    unsigned generation_b =
        (unsigned)(seq + BARRIER_B - place) % sequence->generations;
    for (unsigned generation = 0; generation < sequence->generations;
         generation++) {
        if ((generation == generation_b) == (place == BARRIER_C)) {
            zero_words(sequence, generation);
        }
    }
    if (place == BARRIER_B && sequence->hooks->clear != NULL) {
        sequence->hooks->clear(exec, sequence);
    }
}

void ctn_sequence_set(ctn_sequence_t *sequence, ctn_slot_t *slots,
                      unsigned generations, unsigned flight)
{
    assert(generations <= 16 && (generations & (generations - 1)) == 0 &&
           flight <= generations / 2);
    memset(sequence, 0, sizeof(*sequence));
    sequence->slots = slots;
    sequence->generations = (uint8_t)generations;
    sequence->flight = (uint8_t)flight;
    sequence->queue_end = &sequence->queue;
    /* No operation precedes the first one, so all ranks have completed all
     * operations below it: synchronized - flight. */
    sequence->started = CTN_FIRST_SEQUENCE;
    sequence->complete = CTN_FIRST_SEQUENCE;
    sequence->synchronized = CTN_FIRST_SEQUENCE + flight;
}

void ctn_sequence_init(ctn_sequence_t *sequence, void *block, uint32_t base,
                       unsigned flight)
{
    ctn_sequence_set(sequence,
                     (ctn_slot_t *)(void *)((unsigned char *)block + base),
                     CTN_GENERATIONS, flight);
    sequence->base = base;
}
