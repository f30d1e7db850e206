import { connectKubernetes } from '@osm-ts/kubernetes'
import type { ProgramHost } from './run-program.js'

/** What is used of Node's `process`, which an entry file hands over. */
export type NodeProcess = Pick<NodeJS.Process, 'argv' | 'env' | 'exit' | 'off' | 'on' | 'stdout'>

/** The process that a program runs in. */
export function nodeHost(node: NodeProcess): ProgramHost {
  return {
    argv: node.argv.slice(2),
    environment: node.env,
    onSignal: (listener) => {
      const names = ['SIGTERM', 'SIGINT'] as const
      for (const name of names) node.on(name, listener)
      return () => {
        for (const name of names) node.off(name, listener)
      }
    },
    onUncaught: (listener) => {
      // An unhandled rejection arrives here as well.
      node.on('uncaughtException', listener)
      return () => node.off('uncaughtException', listener)
    },
    print: (text) => node.stdout.write(text),
    exit: (code) => node.exit(code),
    connect: (kubeconfig, userAgent) =>
      connectKubernetes({ ...(kubeconfig !== '' && { kubeconfig }), userAgent, environment: node.env }),
  }
}

/** What is used of Node's `v8` module, which an entry file hands over. */
export interface HeapFlags {
  setFlagsFromString(flags: string): void
}

/**
 * Has V8 collect what is no longer used before a heap has grown by a share of its size. Left alone, V8 lets a small heap grow to four times its size: what
 * strangers send to a webhook would stay in memory long after it was answered.
 * @param percent - of the heap after a collection. Each collection takes time that is linear in what is alive: a program that keeps little in memory can afford a
 * small share
 */
export function boundHeapGrowth(v8: HeapFlags, percent: number): void {
  v8.setFlagsFromString(`--heap-growing-percent=${percent}`)
}
