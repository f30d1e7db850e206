import { spawn } from 'node:child_process'

/** Gives the program that follows its own terminal, and its input to that terminal; ends with the code of the program. */
const terminal = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

/** Runs a program at a terminal, where somebody types these lines. Gives its code, and all that the terminal showed. */
export function atTerminal(
  command: readonly [program: string, ...args: string[]],
  typed: readonly string[],
  { env, timeoutMs }: { readonly env: NodeJS.ProcessEnv; readonly timeoutMs: number },
): Promise<{ readonly code: number; readonly shown: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('python3', ['-c', terminal, ...command], { env, cwd: '/', timeout: timeoutMs })
    let shown = ''
    child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (shown += chunk.toString()))
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === null) reject(new Error(`${command.join(' ')} was ended by ${String(signal)}: ${shown}`))
      else resolve({ code, shown: shown.replaceAll('\r\n', '\n') })
    })
    // What is typed ahead waits in the terminal. The end of the input would be taken for that of the terminal.
    child.stdin.write(typed.map((line) => `${line}\n`).join(''))
  })
}
