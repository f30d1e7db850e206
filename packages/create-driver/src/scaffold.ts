import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/** What a package is made of. */
export interface ScaffoldOptions {
  /** Folder of the new package: absent, or empty. Its last segment names package and class unless {@link sidecarClass} does. */
  readonly folder: string
  /** A DNS label. Absent: the name of the folder without `driver-`. */
  readonly sidecarClass?: string
}

/** Why nothing was written, with what would be right. */
export class NotScaffolded extends Error {
  override readonly name = 'NotScaffolded'
}

const TEMPLATE = join(dirname(import.meta.dirname), 'template')
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** Stands for the class in names and contents of the template. */
const PLACEHOLDER = /mysidecar/g

/**
 * Writes the package of a driver that passes level 0 of the conformance suite.
 *
 * @returns the paths written, relative to the folder, sorted
 * @throws NotScaffolded before anything is written
 */
export function scaffold({ folder, sidecarClass = classOf(folder) }: ScaffoldOptions): readonly string[] {
  if (!DNS_LABEL.test(sidecarClass))
    throw new NotScaffolded(
      `"${sidecarClass}" cannot be a sidecar class: it has to be a DNS label, lower-case letters, digits and inner dashes, at most 63`,
    )
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new NotScaffolded(`${folder} is not empty; name a folder that does not exist yet`)
  const paths = readdirSync(TEMPLATE, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(TEMPLATE, path)).isFile())
    .sort()
  return paths.map((path) => {
    // npm leaves files of that name out of packages.
    const target = path.replace(/^gitignore$/, '.gitignore').replaceAll(PLACEHOLDER, sidecarClass)
    mkdirSync(dirname(join(folder, target)), { recursive: true })
    writeFileSync(
      join(folder, target),
      readFileSync(join(TEMPLATE, path), 'utf8').replaceAll(PLACEHOLDER, sidecarClass),
    )
    return target
  })
}

function classOf(folder: string): string {
  return basename(resolve(folder)).replace(/^(osm-)?driver-/, '')
}
