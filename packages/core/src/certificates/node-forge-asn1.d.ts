/**
 * The one module of node-forge that is used, and of it what is used. Importing it alone costs an eighth of importing
 * all of node-forge, of which nothing else would be called: it knows no elliptic curves, and keys and signatures are
 * the business of node:crypto.
 */
declare module 'node-forge/lib/asn1.js' {
  interface Element {
    readonly tagClass: number
    readonly type: number
    readonly constructed: boolean
    /** Octets as characters 0 to 255, or the elements of a constructed one. */
    readonly value: string | Element[]
  }
  interface ByteBuffer {
    getBytes(): string
  }
  const asn1: {
    readonly Class: { readonly UNIVERSAL: 0x00; readonly CONTEXT_SPECIFIC: 0x80 }
    readonly Type: Readonly<
      Record<'BOOLEAN' | 'INTEGER' | 'BITSTRING' | 'OCTETSTRING' | 'NULL' | 'OID' | 'UTF8' | 'SEQUENCE' | 'SET', number>
    >
    create(tagClass: number, type: number, constructed: boolean, value: string | readonly Element[]): Element
    toDer(element: Element): ByteBuffer
    fromDer(der: string): Element
    oidToDer(oid: string): ByteBuffer
    derToOid(der: string): string
  }
  export = asn1
}
