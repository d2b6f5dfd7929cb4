// A warning of the compiler, most of which are about access for everybody, is an error.
export default {
  compilerOptions: { runes: true },
  onwarn(warning) {
    throw new Error(`${warning.filename}:${warning.start?.line}: ${warning.code}: ${warning.message}`)
  },
}
