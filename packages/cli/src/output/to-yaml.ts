import type { CreateNodeOptions, DocumentOptions, SchemaOptions, ToStringOptions } from 'yaml'

import { Document, visit } from './yaml-library.js'

const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
/** Those that stand as they are between double quotes. */
const UNESCAPED = /[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu
const PLAIN_CONTROLS = /[\n\t]/g

type YamlForm = CreateNodeOptions & DocumentOptions & SchemaOptions & ToStringOptions

/** A value as YAML for people and programs alike: what would steer a terminal is escaped, and is read back as it was. */
export function toYaml(value: unknown, form: YamlForm = {}): string {
  const document = new Document(value, null, form)
  visit(document, {
    Scalar: (_key, scalar) => {
      // Only between double quotes does an escape stand for a character.
      if (typeof scalar.value === 'string' && STEERING.test(scalar.value.replace(PLAIN_CONTROLS, '')))
        scalar.type = 'QUOTE_DOUBLE'
    },
  })
  return document
    .toString(form)
    .replace(UNESCAPED, (character) => `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`)
}
