import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Opens a page in the user's browser. Command lines can be read by every user of the machine, so the browser is given a file that leads to the page and
 * that no one else can read.
 *
 * @returns removes the file
 */
export async function openBrowser(
  url: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-dashboard-'))
  const file = join(folder, 'open.html')
  await writeFile(
    file,
    `<!doctype html><title>osm dashboard</title><meta http-equiv="refresh" content="0;url=${url}">\n`,
    {
      mode: 0o600,
    },
  )
  const opener = variables['BROWSER'] ?? (process.platform === 'darwin' ? 'open' : 'xdg-open')
  const child = spawn(opener, [pathToFileURL(file).href], { stdio: 'ignore', detached: true })
  // Without a browser the printed address is what there is.
  child.on('error', () => undefined)
  child.unref()
  return () => rm(folder, { recursive: true, force: true })
}
