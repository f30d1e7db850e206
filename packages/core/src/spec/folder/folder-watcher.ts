import { watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'

/**
 * Tells that something may have changed below a folder. A hint only: events can be lost, and the caller looks for
 * itself.
 */
export class FolderWatcher {
  readonly #watchers = new Map<string, { readonly identity: string; readonly watcher: FSWatcher }>()
  readonly #onHint: (path: string | undefined) => void
  readonly #recursive: boolean

  /**
   * @param onHint - called with the path that may have changed, or undefined if anything may have
   * @param platform - decides how to watch: on macOS and Windows one watch covers a whole tree; elsewhere Node would
   *   watch every single file
   *   for that, and one watch for each directory is cheaper
   */
  constructor(onHint: (path: string | undefined) => void, platform: NodeJS.Platform = process.platform) {
    this.#onHint = onHint
    this.#recursive = platform === 'darwin' || platform === 'win32'
  }

  /**
   * Watches exactly these directories.
   *
   * @param directories - by path, with what tells a directory from a later one of the same path; the first is the root
   * @returns `complete`: false if some directory can't be watched, so that the caller must look more often; `added`:
   *   true if a directory was not
   *   watched before, so that what happened there until now may have gone unnoticed
   */
  update(directories: ReadonlyMap<string, string>): { readonly complete: boolean; readonly added: boolean } {
    const wanted = this.#recursive ? new Map([...directories].slice(0, 1)) : directories
    for (const [path, { identity, watcher }] of this.#watchers) {
      if (wanted.get(path) === identity) continue
      watcher.close()
      this.#watchers.delete(path)
    }
    const before = this.#watchers.size
    for (const [path, identity] of wanted) if (!this.#watchers.has(path)) this.#open(path, identity)
    return { complete: this.#watchers.size === wanted.size, added: this.#watchers.size > before }
  }

  close(): void {
    for (const { watcher } of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #open(path: string, identity: string): void {
    try {
      const watcher = watch(path, { recursive: this.#recursive }, (_event, name) => {
        this.#onHint(name === null ? undefined : join(path, name))
      })
      watcher.on('error', () => {
        // The directory vanished or the system gave up on it: the next look decides.
        watcher.close()
        this.#watchers.delete(path)
        this.#onHint(undefined)
      })
      this.#watchers.set(path, { identity, watcher })
    } catch {
      // No watches left, or the directory is gone already. The caller is told by the result of update().
    }
  }
}
