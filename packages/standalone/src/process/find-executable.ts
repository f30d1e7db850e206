import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'

/** The file that a command stands for, as the system would look it up; undefined if there is none that can be run. */
export function findExecutable(command: string, cwd: string, path: string | undefined): string | undefined {
  if (command.includes('/')) return isExecutable(resolve(cwd, command)) ? resolve(cwd, command) : undefined
  const folders = (path ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter)
  return folders.map((folder) => join(isAbsolute(folder) ? folder : resolve(cwd, folder), command)).find(isExecutable)
}

/** True for a file that this user may run. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** True for a folder. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
