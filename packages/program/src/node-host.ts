import { connectKubernetes } from '@osm-ts/kubernetes'
import type { ProgramHost } from './program-host.js'

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
