import type { Reference } from '@osm-ts/driver-api'

import { bootstrapConfig, type BootstrapContext } from './bootstrap-config.js'
import { certificateSecret, validationSecret } from './secret-files.js'
import { textWithFiles } from './text-with-files.js'

/** Text of a file, with references. */
export type FileText = readonly (string | Reference)[]

/** A text around the name of the node. */
interface Template {
  readonly key: string
  readonly before: string
  readonly after: FileText
}

/** Stands for the name of the node while a template is made; no name can hold it. */
const NODE = '\u0000'

/**
 * The texts of Envoy's files.
 *
 * Making a bootstrap configuration takes longer than everything else of an injection together, and of two pods in a row only the names differ: the
 * last one is kept as a template.
 */
export class BootstrapTexts {
  #template: Template | undefined
  #certificateSecret: FileText | undefined
  #validationSecret: FileText | undefined

  bootstrap(context: BootstrapContext): FileText {
    const { proxyCommonName, ...others } = context
    const key = JSON.stringify(others)
    if (this.#template?.key !== key) this.#template = templateOf(others, key)
    const { before, after } = this.#template
    const [first = '', ...rest] = after
    const node = `${before}${JSON.stringify(proxyCommonName)}`
    return typeof first === 'string' ? [`${node}${first}`, ...rest] : [node, ...after]
  }

  certificateSecret(): FileText {
    this.#certificateSecret ??= textWithFiles(certificateSecret())
    return this.#certificateSecret
  }

  validationSecret(): FileText {
    this.#validationSecret ??= textWithFiles(validationSecret())
    return this.#validationSecret
  }
}

function templateOf(others: Omit<BootstrapContext, 'proxyCommonName'>, key: string): Template {
  const parts = textWithFiles(
    bootstrapConfig({ ...others, proxyCommonName: NODE as BootstrapContext['proxyCommonName'] }),
  )
  const place = JSON.stringify(NODE)
  const index = parts.findIndex((part) => typeof part === 'string' && part.includes(place))
  const part = parts[index]
  // The name is part of every bootstrap configuration, and no file is in front of it.
  if (index !== 0 || typeof part !== 'string')
    throw new TypeError('the bootstrap configuration does not name its node first')
  const at = part.indexOf(place)
  return { key, before: part.slice(0, at), after: [part.slice(at + place.length), ...parts.slice(1)] }
}
