import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

/** Tells versions of a file apart without reading it. */
export interface FileStamp {
  /** Device, inode, size and both times; differs whenever any of them does. */
  readonly signature: string
  readonly size: number
  /** Newer of modification and status change, in milliseconds since the epoch. */
  readonly changedAt: number
  /** Who may do what with it, as the file system has it. */
  readonly mode: number
}

/** What a folder holds at one moment. */
export interface FolderListing {
  /** Files by path. */
  readonly files: ReadonlyMap<string, FileStamp>
  /** Directories to watch, with what tells one directory from a later one of the same path. */
  readonly directories: ReadonlyMap<string, string>
  /** Directories that could not be read, with the reason. */
  readonly unreadable: ReadonlyMap<string, string>
}

const parallelStats = 32

/** True for names of files that hold objects. Hidden files are left to editors and to the volumes of ConfigMaps. */
export function isSpecFileName(name: string): boolean {
  return !name.startsWith('.') && /\.(ya?ml|json)$/i.test(name)
}

/**
 * Lists all YAML and JSON files below a folder, in links too. A directory that several links lead to counts once, so
 * that loops end.
 *
 * @throws the error of the file system if the folder itself can't be read
 */
export async function listFiles(root: string): Promise<FolderListing> {
  const paths: string[] = []
  const directories = new Map<string, string>()
  const unreadable = new Map<string, string>()
  const visited = new Set<string>()

  const visit = async (directory: string): Promise<void> => {
    const real = await realpath(directory)
    if (visited.has(real)) return
    visited.add(real)
    const entries = await readdir(directory, { withFileTypes: true })
    const { dev, ino } = await stat(directory, { bigint: true })
    directories.set(directory, `${dev}:${ino}`)
    const children: string[] = []
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.')) continue
      const path = join(directory, entry.name)
      const isDirectory = entry.isDirectory() || (entry.isSymbolicLink() && (await leadsToDirectory(path)))
      if (isDirectory) children.push(path)
      else if (isSpecFileName(entry.name)) paths.push(path)
    }
    for (const child of children) {
      try {
        await visit(child)
      } catch (error) {
        // Gone between being listed and being read: as if it had not been there.
        if (!isMissing(error)) unreadable.set(child, reasonOf(error))
      }
    }
  }

  await visit(root)
  return { files: await stampAll(paths), directories, unreadable }
}

/** The stamp of a file, or undefined if there is none (any more). */
export async function stampFile(path: string): Promise<FileStamp | undefined> {
  try {
    const stats = await stat(path, { bigint: true })
    if (!stats.isFile()) return undefined
    return {
      signature: `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`,
      size: Number(stats.size),
      changedAt: Math.max(Number(stats.mtimeMs), Number(stats.ctimeMs)),
      mode: Number(stats.mode),
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** What went wrong, in the words of the operating system. */
export function reasonOf(error: unknown): string {
  return errorMessage(error)
}

function isMissing(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | null)?.code
  // A loop of links leads to no file.
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP'
}

async function leadsToDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

async function stampAll(paths: readonly string[]): Promise<ReadonlyMap<string, FileStamp>> {
  const files = new Map<string, FileStamp>()
  for (let start = 0; start < paths.length; start += parallelStats) {
    const slice = paths.slice(start, start + parallelStats)
    const stamps = await Promise.all(slice.map((path) => stampFile(path).catch(() => unreadableStamp)))
    for (const [index, path] of slice.entries()) {
      const stamp = stamps[index]
      if (stamp !== undefined) files.set(path, stamp)
    }
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Stands for a file that exists but refuses to be looked at; reading it will tell the reason. */
export const unreadableStamp: FileStamp = { signature: 'unreadable', size: 0, changedAt: 0, mode: 0 }
