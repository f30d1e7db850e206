import type { HeapReport, ProbeCommand } from './probe.js'

// Loaded into a program before it starts (`node --expose-gc --import`), so that the process that started it can ask what is in use. The program knows nothing of it.

const kept: number[][] = []

async function collect(): Promise<void> {
  // What a collection finds to be gone may hold more, which its finalizers let go in later turns.
  for (let turn = 0; turn < 3; turn += 1) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  const report: HeapReport = { type: 'heap', heap: heapUsed, external, resident: rss }
  process.send?.(report)
}

process.on('message', (command: ProbeCommand) => {
  if (command.type === 'collect') void collect()
  else kept.push(Array.from({ length: Math.ceil(command.octets / Float64Array.BYTES_PER_ELEMENT) }, Math.random))
})
// The program ends as it would without.
process.channel?.unref()
