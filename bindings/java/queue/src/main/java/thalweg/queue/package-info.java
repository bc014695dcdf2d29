/**
 * Bounded queues whose ring is split into blocks.
 *
 * <p>After J. Wang et al., <em>BBQ: A Block-based Bounded Queue for Exchanging Data and Profiling</em>, USENIX ATC 2022. In a ring of entries,
 * producers watch the consumers' index and the other way round. Here each block has its own cursors: one side looks at what the other one
 * writes once for each block.
 */
package thalweg.queue;
