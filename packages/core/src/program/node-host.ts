import type { ProgramHost } from './program-host.js'

/** The process that this runs in. */
export function nodeHost(connect: ProgramHost['connect']): ProgramHost {
  return {
    argv: process.argv.slice(2),
    environment: process.env,
    onSignal: (listener) => {
      const names = ['SIGTERM', 'SIGINT'] as const
      for (const name of names) process.on(name, listener)
      return () => {
        for (const name of names) process.off(name, listener)
      }
    },
    onUncaught: (listener) => {
      // An unhandled rejection arrives here as well.
      process.on('uncaughtException', listener)
      return () => process.off('uncaughtException', listener)
    },
    print: (text) => process.stdout.write(text),
    exit: (code) => process.exit(code),
    connect,
  }
}
