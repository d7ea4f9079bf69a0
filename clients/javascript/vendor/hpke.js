// @ts-nocheck
// hpke 1.1.7 from npm, licence MIT (hpke.LICENSE.md): written by scripts/vendor.mjs
function ComputeNonce(base_nonce, seq, Nn) {
  const nonce = new Uint8Array(Nn);
  nonce.set(base_nonce);
  let s = seq;
  for (let i = Nn - 1; i >= 0 && s > 0; i--) {
    nonce[i] = nonce[i] ^ s & 255;
    s = Math.floor(s / 256);
  }
  return nonce;
}
function MaxSeq(Nn) {
  return Math.min(2 ** (8 * Nn) - 1, Number.MAX_SAFE_INTEGER);
}
function IncrementSeq(seq, maxSeq) {
  if (seq >= maxSeq) {
    throw new MessageLimitReachedError("Sequence number overflow");
  }
  return ++seq;
}
async function ContextExport(suite, exporterSecret, exporterContext, L) {
  checkUint8Array(exporterContext, "exporterContext");
  const stages = KDFStages(suite.KDF);
  if (!Number.isInteger(L) || L <= 0 || L > 65535) {
    throw new TypeError('"L" must be a positive integer not exceeding 65535');
  }
  if (stages === 2 && L > 255 * suite.KDF.Nh) {
    throw new TypeError('"L" must not exceed 255*Nh of the cipher suite KDF');
  }
  const Export = stages === 1 ? Export_OneStage : Export_TwoStage;
  return await Export(suite.KDF, suite.id, exporterSecret, exporterContext, L);
}
var Mutex = class {
  #locked = Promise.resolve();
  async lock() {
    let releaseLock;
    const nextLock = new Promise((resolve) => {
      releaseLock = resolve;
    });
    const previousLock = this.#locked;
    this.#locked = nextLock;
    await previousLock;
    return releaseLock;
  }
};
function createContextState(suite, mode, key, base_nonce, exporter_secret) {
  return {
    suite,
    mode,
    key,
    base_nonce,
    exporter_secret,
    max_seq: MaxSeq(suite.AEAD.Nn),
    seq: 0,
    mutex: void 0
  };
}
var SenderContext = class {
  #state;
  constructor(suite, mode, key, base_nonce, exporter_secret) {
    this.#state = createContextState(suite, mode, key, base_nonce, exporter_secret);
  }
  get mode() {
    return this.#state.mode;
  }
  get seq() {
    return this.#state.seq;
  }
  async Seal(plaintext, aad) {
    checkUint8Array(plaintext, "plaintext");
    aad ??= new Uint8Array();
    checkUint8Array(aad, "aad");
    const state = this.#state;
    if (state.suite.AEAD.id === EXPORT_ONLY) {
      throw new TypeError("Export-only AEAD cannot be used with Seal");
    }
    state.mutex ??= new Mutex();
    const release = await state.mutex.lock();
    let ct;
    try {
      ct = await state.suite.AEAD.Seal(
        state.key,
        ComputeNonce(state.base_nonce, state.seq, state.suite.AEAD.Nn),
        aad,
        plaintext
      );
      state.seq = IncrementSeq(state.seq, state.max_seq);
      return ct;
    } finally {
      release();
    }
  }
  async Export(exporterContext, length) {
    return await ContextExport(
      this.#state.suite,
      this.#state.exporter_secret,
      exporterContext,
      length
    );
  }
  get Nt() {
    return this.#state.suite.AEAD.Nt;
  }
};
var RecipientContext = class {
  #state;
  constructor(suite, mode, key, base_nonce, exporter_secret) {
    this.#state = createContextState(suite, mode, key, base_nonce, exporter_secret);
  }
  get mode() {
    return this.#state.mode;
  }
  get seq() {
    return this.#state.seq;
  }
  async Open(ciphertext, aad) {
    checkUint8Array(ciphertext, "ciphertext");
    aad ??= new Uint8Array();
    checkUint8Array(aad, "aad");
    const state = this.#state;
    if (state.suite.AEAD.id === EXPORT_ONLY) {
      throw new TypeError("Export-only AEAD cannot be used with Open");
    }
    state.mutex ??= new Mutex();
    const release = await state.mutex.lock();
    try {
      let pt;
      try {
        pt = await state.suite.AEAD.Open(
          state.key,
          ComputeNonce(state.base_nonce, state.seq, state.suite.AEAD.Nn),
          aad,
          ciphertext
        );
      } catch (cause) {
        if (cause instanceof MessageLimitReachedError || cause instanceof NotSupportedError) {
          throw cause;
        }
        throw new OpenError("AEAD decryption failed", { cause });
      }
      state.seq = IncrementSeq(state.seq, state.max_seq);
      return pt;
    } finally {
      release();
    }
  }
  async Export(exporterContext, length) {
    return await ContextExport(
      this.#state.suite,
      this.#state.exporter_secret,
      exporterContext,
      length
    );
  }
};
var validate = (factory, type) => {
  try {
    const result = factory();
    if (result.type !== type) {
      throw new Error(`Invalid "${type}" return discriminator`);
    }
    return result;
  } catch (cause) {
    throw new TypeError(`Invalid "${type}"`, { cause });
  }
};
var CipherSuite = class {
  #suite;
  constructor(KEM, KDF, AEAD) {
    const kem = validate(KEM, "KEM");
    const kdf = validate(KDF, "KDF");
    const aead = validate(AEAD, "AEAD");
    this.#suite = {
      KEM: kem,
      KDF: kdf,
      AEAD: aead,
      id: concat(L_HPKE, I2OSP(kem.id, 2), I2OSP(kdf.id, 2), I2OSP(aead.id, 2))
    };
  }
  get KEM() {
    return {
      id: this.#suite.KEM.id,
      name: this.#suite.KEM.name,
      Nsecret: this.#suite.KEM.Nsecret,
      Nenc: this.#suite.KEM.Nenc,
      Npk: this.#suite.KEM.Npk,
      Nsk: this.#suite.KEM.Nsk
    };
  }
  get KDF() {
    return {
      id: this.#suite.KDF.id,
      name: this.#suite.KDF.name,
      stages: this.#suite.KDF.stages,
      Nh: this.#suite.KDF.Nh
    };
  }
  get AEAD() {
    return {
      id: this.#suite.AEAD.id,
      name: this.#suite.AEAD.name,
      Nk: this.#suite.AEAD.Nk,
      Nn: this.#suite.AEAD.Nn,
      Nt: this.#suite.AEAD.Nt
    };
  }
  async GenerateKeyPair(extractable) {
    extractable ??= false;
    checkExtractable(extractable);
    return await this.#suite.KEM.GenerateKeyPair(extractable);
  }
  async DeriveKeyPair(ikm, extractable) {
    extractable ??= false;
    checkExtractable(extractable);
    checkUint8Array(ikm, "ikm");
    if (ikm.byteLength < this.#suite.KEM.Nsk) {
      throw new DeriveKeyPairError('Insufficient "ikm" length');
    }
    try {
      return await this.#suite.KEM.DeriveKeyPair(ikm, extractable);
    } catch (cause) {
      if (cause instanceof NotSupportedError) {
        throw cause;
      }
      throw new DeriveKeyPairError("Key derivation failed", { cause });
    }
  }
  async SerializePrivateKey(privateKey) {
    isKey(privateKey, "private", true);
    return await this.#suite.KEM.SerializePrivateKey(privateKey);
  }
  async SerializePublicKey(publicKey) {
    isKey(publicKey, "public", true);
    return await this.#suite.KEM.SerializePublicKey(publicKey);
  }
  async DeserializePrivateKey(privateKey, extractable) {
    extractable ??= false;
    checkExtractable(extractable);
    checkUint8Array(privateKey, "privateKey");
    try {
      if (privateKey.byteLength !== this.#suite.KEM.Nsk) {
        throw new Error('Invalid "privateKey" length');
      }
      return await this.#suite.KEM.DeserializePrivateKey(privateKey, extractable);
    } catch (cause) {
      if (cause instanceof NotSupportedError) {
        throw cause;
      }
      throw new DeserializeError("Private key deserialization failed", { cause });
    }
  }
  async DeserializePublicKey(publicKey) {
    checkUint8Array(publicKey, "publicKey");
    try {
      if (publicKey.byteLength !== this.#suite.KEM.Npk) {
        throw new Error('Invalid "publicKey" length');
      }
      return await this.#suite.KEM.DeserializePublicKey(publicKey);
    } catch (cause) {
      if (cause instanceof NotSupportedError) {
        throw cause;
      }
      throw new DeserializeError("Public key deserialization failed", { cause });
    }
  }
  async Seal(publicKey, plaintext, options) {
    if (this.#suite.AEAD.id === EXPORT_ONLY) {
      throw new TypeError("Export-only AEAD cannot be used with Seal");
    }
    const { encapsulatedSecret, ctx } = await this.SetupSender(publicKey, options);
    const ciphertext = await ctx.Seal(plaintext, options?.aad);
    return { encapsulatedSecret, ciphertext };
  }
  async Open(privateKey, encapsulatedSecret, ciphertext, options) {
    if (this.#suite.AEAD.id === EXPORT_ONLY) {
      throw new TypeError("Export-only AEAD cannot be used with Open");
    }
    const ctx = await this.SetupRecipient(privateKey, encapsulatedSecret, options);
    return await ctx.Open(ciphertext, options?.aad);
  }
  async SendExport(publicKey, exporterContext, length, options) {
    const { encapsulatedSecret, ctx } = await this.SetupSender(publicKey, options);
    const exportedSecret = await ctx.Export(exporterContext, length);
    return { encapsulatedSecret, exportedSecret };
  }
  async ReceiveExport(privateKey, encapsulatedSecret, exporterContext, length, options) {
    const ctx = await this.SetupRecipient(privateKey, encapsulatedSecret, options);
    return await ctx.Export(exporterContext, length);
  }
  async SetupSender(publicKey, options) {
    isKey(publicKey, "public");
    let shared_secret;
    let enc;
    try {
      const result = await this.#suite.KEM.Encap(publicKey);
      shared_secret = result.shared_secret;
      enc = result.enc;
    } catch (cause) {
      if (cause instanceof ValidationError || cause instanceof NotSupportedError) {
        throw cause;
      }
      throw new EncapError("Encapsulation failed", { cause });
    }
    const mode = options?.psk?.byteLength ? MODE_PSK : MODE_BASE;
    const { key, base_nonce, exporter_secret } = await KeySchedule(
      this.#suite,
      mode,
      shared_secret,
      options?.info,
      options?.psk,
      options?.pskId
    );
    const ctx = new SenderContext(this.#suite, mode, key, base_nonce, exporter_secret);
    return { encapsulatedSecret: enc, ctx };
  }
  async SetupRecipient(privateKey, encapsulatedSecret, options) {
    const { skR, pkR } = this.#extractRecipientKeys(privateKey);
    checkUint8Array(encapsulatedSecret, "encapsulatedSecret");
    if (encapsulatedSecret.byteLength !== this.#suite.KEM.Nenc) {
      throw new DecapError("Invalid encapsulated secret length");
    }
    let shared_secret;
    try {
      shared_secret = await this.#suite.KEM.Decap(encapsulatedSecret, skR, pkR);
    } catch (cause) {
      if (cause instanceof ValidationError || cause instanceof NotSupportedError) {
        throw cause;
      }
      throw new DecapError("Decapsulation failed", { cause });
    }
    const mode = options?.psk?.byteLength ? MODE_PSK : MODE_BASE;
    const { key, base_nonce, exporter_secret } = await KeySchedule(
      this.#suite,
      mode,
      shared_secret,
      options?.info,
      options?.psk,
      options?.pskId
    );
    return new RecipientContext(this.#suite, mode, key, base_nonce, exporter_secret);
  }
  #extractRecipientKeys(skR) {
    if (isKeyPair(skR)) {
      return { skR: skR.privateKey, pkR: skR.publicKey };
    }
    isKey(skR, "private");
    return { skR, pkR: void 0 };
  }
};
var ValidationError = class _ValidationError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "ValidationError";
    Error.captureStackTrace?.(this, _ValidationError);
  }
};
var DeserializeError = class _DeserializeError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "DeserializeError";
    Error.captureStackTrace?.(this, _DeserializeError);
  }
};
var EncapError = class _EncapError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "EncapError";
    Error.captureStackTrace?.(this, _EncapError);
  }
};
var DecapError = class _DecapError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "DecapError";
    Error.captureStackTrace?.(this, _DecapError);
  }
};
var OpenError = class _OpenError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "OpenError";
    Error.captureStackTrace?.(this, _OpenError);
  }
};
var MessageLimitReachedError = class _MessageLimitReachedError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "MessageLimitReachedError";
    Error.captureStackTrace?.(this, _MessageLimitReachedError);
  }
};
var DeriveKeyPairError = class _DeriveKeyPairError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "DeriveKeyPairError";
    Error.captureStackTrace?.(this, _DeriveKeyPairError);
  }
};
var NotSupportedError = class _NotSupportedError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "NotSupportedError";
    Error.captureStackTrace?.(this, _NotSupportedError);
  }
};
var MODE_BASE = 0;
var MODE_PSK = 1;
function concat(...buffers) {
  const size = buffers.reduce((acc, { length }) => acc + length, 0);
  const buf = new Uint8Array(size);
  let i = 0;
  for (const buffer of buffers) {
    buf.set(buffer, i);
    i += buffer.length;
  }
  return buf;
}
function slice(buffer, start, end) {
  return Uint8Array.prototype.slice.call(buffer, start, end);
}
function encode(string) {
  const bytes = new Uint8Array(string.length);
  for (let i = 0; i < string.length; i++) {
    const code = string.charCodeAt(i);
    if (code > 127) {
      throw new TypeError("Input string must contain only ASCII characters");
    }
    bytes[i] = code;
  }
  return bytes;
}
var L_HPKE_v1 = /* @__PURE__ */ encode("HPKE-v1");
var L_HPKE = /* @__PURE__ */ encode("HPKE");
var L_KEM = /* @__PURE__ */ encode("KEM");
var L_sec = /* @__PURE__ */ encode("sec");
var L_secret = /* @__PURE__ */ encode("secret");
var L_key = /* @__PURE__ */ encode("key");
var L_base_nonce = /* @__PURE__ */ encode("base_nonce");
var L_exp = /* @__PURE__ */ encode("exp");
var L_psk_id_hash = /* @__PURE__ */ encode("psk_id_hash");
var L_info_hash = /* @__PURE__ */ encode("info_hash");
var L_dkp_prk = /* @__PURE__ */ encode("dkp_prk");
var L_eae_prk = /* @__PURE__ */ encode("eae_prk");
var L_shared_secret = /* @__PURE__ */ encode("shared_secret");
var L_sk = /* @__PURE__ */ encode("sk");
function lengthPrefixed(x) {
  return concat(I2OSP(x.byteLength, 2), x);
}
async function LabeledDerive(KDF, suite_id, ikm, label, context, L) {
  const labeled_ikm = concat(ikm, L_HPKE_v1, suite_id, lengthPrefixed(label), I2OSP(L, 2), context);
  return await KDF.Derive(labeled_ikm, L);
}
async function Export_OneStage(KDF, suite_id, exporter_secret, exporter_context, L) {
  checkLength(exporter_context, "Exporter context", MAX_LENGTH_ONE_STAGE);
  return await LabeledDerive(KDF, suite_id, exporter_secret, L_sec, exporter_context, L);
}
async function CombineSecrets_OneStage(suite, mode, shared_secret, info, psk, psk_id) {
  checkLength(psk, "PSK", MAX_LENGTH_ONE_STAGE);
  checkLength(psk_id, "PSK ID", MAX_LENGTH_ONE_STAGE);
  checkLength(info, "Info", MAX_LENGTH_ONE_STAGE);
  const secrets = concat(lengthPrefixed(psk), lengthPrefixed(shared_secret));
  const context = concat(I2OSP(mode, 1), lengthPrefixed(psk_id), lengthPrefixed(info));
  const secret = await LabeledDerive(
    suite.KDF,
    suite.id,
    secrets,
    L_secret,
    context,
    suite.AEAD.Nk + suite.AEAD.Nn + suite.KDF.Nh
  );
  const key = slice(secret, 0, suite.AEAD.Nk);
  const base_nonce = slice(secret, suite.AEAD.Nk, suite.AEAD.Nk + suite.AEAD.Nn);
  const exporter_secret = slice(secret, suite.AEAD.Nk + suite.AEAD.Nn);
  return { key, base_nonce, exporter_secret };
}
var MAX_LENGTH_TWO_STAGE = 65535;
var MAX_LENGTH_ONE_STAGE = 65535;
function checkLength(data, name, maxLength) {
  if (data.byteLength > maxLength) {
    throw new TypeError(`${name} length must not exceed ${maxLength} bytes`);
  }
}
function checkUint8Array(input, name) {
  if (!(input instanceof Uint8Array)) {
    throw new TypeError(`"${name}" must be Uint8Array`);
  }
  if (typeof SharedArrayBuffer !== "undefined" && input.buffer instanceof SharedArrayBuffer) {
    throw new TypeError(`"${name}" must not be backed by a SharedArrayBuffer`);
  }
}
function checkExtractable(extractable) {
  if (typeof extractable !== "boolean") {
    throw new TypeError('"extractable" must be boolean');
  }
}
async function CombineSecrets_TwoStage(suite, mode, shared_secret, info, psk, psk_id) {
  checkLength(psk, "PSK", MAX_LENGTH_TWO_STAGE);
  checkLength(psk_id, "PSK ID", MAX_LENGTH_TWO_STAGE);
  checkLength(info, "Info", MAX_LENGTH_TWO_STAGE);
  const [psk_id_hash, info_hash] = await Promise.all([
    LabeledExtract(suite.KDF, suite.id, new Uint8Array(), L_psk_id_hash, psk_id),
    LabeledExtract(suite.KDF, suite.id, new Uint8Array(), L_info_hash, info)
  ]);
  const key_schedule_context = concat(I2OSP(mode, 1), psk_id_hash, info_hash);
  const secret = await LabeledExtract(suite.KDF, suite.id, shared_secret, L_secret, psk);
  if (suite.AEAD.id === EXPORT_ONLY) {
    const exporter_secret2 = await LabeledExpand(
      suite.KDF,
      suite.id,
      secret,
      L_exp,
      key_schedule_context,
      suite.KDF.Nh
    );
    return { key: new Uint8Array(), base_nonce: new Uint8Array(), exporter_secret: exporter_secret2 };
  }
  const [key, base_nonce, exporter_secret] = await Promise.all([
    LabeledExpand(suite.KDF, suite.id, secret, L_key, key_schedule_context, suite.AEAD.Nk),
    LabeledExpand(suite.KDF, suite.id, secret, L_base_nonce, key_schedule_context, suite.AEAD.Nn),
    LabeledExpand(suite.KDF, suite.id, secret, L_exp, key_schedule_context, suite.KDF.Nh)
  ]);
  return { key, base_nonce, exporter_secret };
}
async function Export_TwoStage(KDF, suite_id, exporter_secret, exporter_context, L) {
  checkLength(exporter_context, "Exporter context", MAX_LENGTH_TWO_STAGE);
  return await LabeledExpand(KDF, suite_id, exporter_secret, L_sec, exporter_context, L);
}
async function LabeledExtract(KDF, suite_id, salt, label, ikm) {
  const labeled_ikm = concat(L_HPKE_v1, suite_id, label, ikm);
  return await KDF.Extract(salt, labeled_ikm);
}
async function LabeledExpand(KDF, suite_id, prk, label, info, L) {
  const labeled_info = concat(I2OSP(L, 2), L_HPKE_v1, suite_id, label, info);
  return await KDF.Expand(prk, labeled_info, L);
}
function isKeyPair(skR) {
  if (!skR || typeof skR !== "object") return false;
  if ("publicKey" in skR && "privateKey" in skR) {
    const pkR = skR.publicKey;
    skR = skR.privateKey;
    try {
      isKey(pkR, "public");
      isKey(skR, "private");
      if (pkR.algorithm.name !== skR.algorithm.name) {
        throw new TypeError("key pair algorithms do not match");
      }
    } catch (cause) {
      throw new TypeError('Invalid "privateKey"', { cause });
    }
    return true;
  }
  return false;
}
function isKey(key, type, extractable) {
  const k = key;
  if (typeof k.algorithm !== "object" || typeof k.algorithm.name !== "string" || typeof k.extractable !== "boolean" || typeof k.type !== "string" || k.type !== type) {
    throw new TypeError(`Invalid "${type}Key"`);
  }
  if (extractable && k.extractable !== true) {
    throw new TypeError(`"${type}Key" must be extractable`);
  }
}
function I2OSP(n, w) {
  if (!Number.isSafeInteger(w) || w <= 0) {
    throw new Error("w must be a positive safe integer");
  }
  if (!Number.isSafeInteger(n) || n < 0) {
    throw new Error("n must be a non-negative safe integer");
  }
  const max = Math.pow(256, w);
  if (n >= max) {
    throw new Error("n too large to fit in w-length byte string");
  }
  const ret = new Uint8Array(w);
  let num = n;
  for (let i = 0; i < w && num; i++) {
    ret[w - (i + 1)] = num % 256;
    num = Math.floor(num / 256);
  }
  return ret;
}
function KDFStages(KDF) {
  if (KDF.stages === 1 || KDF.stages === 2) {
    return KDF.stages;
  }
  throw new Error("unreachable");
}
async function KeySchedule(suite, mode, shared_secret, info, psk, pskId) {
  info ??= new Uint8Array();
  checkUint8Array(info, "info");
  psk ??= new Uint8Array();
  checkUint8Array(psk, "psk");
  pskId ??= new Uint8Array();
  checkUint8Array(pskId, "pskId");
  const stages = KDFStages(suite.KDF);
  const CombineSecrets = stages === 1 ? CombineSecrets_OneStage : CombineSecrets_TwoStage;
  VerifyPSKInputs(psk, pskId);
  return await CombineSecrets(suite, mode, shared_secret, info, psk, pskId);
}
function VerifyPSKInputs(psk, psk_id) {
  if (psk.byteLength && psk_id.byteLength) {
    if (psk.byteLength < 32) {
      throw new TypeError("Insufficient PSK length");
    }
    return;
  }
  if (!psk.byteLength && !psk_id.byteLength) {
    return;
  }
  throw new TypeError("Inconsistent PSK inputs");
}
var NotApplicable = () => {
  throw new Error("unreachable");
};
var EXPORT_ONLY = 65535;
var AES_GCM_P_MAX = 2 ** 36 - 31;
var CHACHA20_POLY1305_P_MAX = 2 ** 38 - 64;
async function subtle(promise, name) {
  try {
    return await promise(crypto.subtle);
  } catch (cause) {
    if (cause instanceof TypeError || cause instanceof DOMException && cause.name === "NotSupportedError") {
      throw new NotSupportedError(`${name} is unsupported in this runtime`, { cause });
    }
    throw cause;
  }
}
async function getCachedCryptoKey(cache, keyBytes, init) {
  const cached = cache.get(keyBytes);
  if (cached && cached.bytes.byteLength === keyBytes.byteLength && cached.bytes.every((byte, index) => byte === keyBytes[index])) {
    return cached.key;
  }
  const bytes = slice(keyBytes);
  const entry = { bytes, key: init(bytes) };
  cache.set(keyBytes, entry);
  try {
    return await entry.key;
  } catch (cause) {
    if (cache.get(keyBytes) === entry) cache.delete(keyBytes);
    throw cause;
  }
}
function HKDF_SHARED() {
  let emptySalt;
  async function importKey(salt) {
    return await subtle(
      (c) => c.importKey("raw", salt, { name: "HMAC", hash: this.hash }, false, ["sign"]),
      this.name
    );
  }
  const cache = /* @__PURE__ */ new WeakMap();
  return {
    stages: 2,
    Derive: NotApplicable,
    async Extract(salt, ikm) {
      const key = salt.byteLength === 0 ? emptySalt ??= await importKey.call(this, new ArrayBuffer(this.Nh)) : await importKey.call(this, salt);
      return new Uint8Array(
        await subtle((c) => c.sign("HMAC", key, ikm), this.name)
      );
    },
    async Expand(prk, info, L) {
      if (prk.byteLength < this.Nh) {
        throw new Error("prk.byteLength < this.Nh");
      }
      if (L > 255 * this.Nh) {
        throw new Error("L must be <= 255*Nh");
      }
      const N = Math.ceil(L / this.Nh);
      const key = await getCachedCryptoKey(
        cache,
        prk,
        (bytes) => importKey.call(this, bytes)
      );
      const T = new Uint8Array(N * this.Nh);
      let T_prev = new Uint8Array();
      for (let i = 0; i < N; i++) {
        const input = new Uint8Array(T_prev.byteLength + info.byteLength + 1);
        input.set(T_prev);
        input.set(info, T_prev.byteLength);
        input[T_prev.byteLength + info.byteLength] = i + 1;
        const T_i = new Uint8Array(await subtle((c) => c.sign("HMAC", key, input), this.name));
        T.set(T_i, i * this.Nh);
        T_prev = T_i;
      }
      return slice(T, 0, L);
    }
  };
}
var KDF_HKDF_SHA256 = function() {
  return { id: 1, type: "KDF", name: "HKDF-SHA256", Nh: 32, hash: "SHA-256", ...HKDF_SHARED() };
};
async function getPublicKeyByExport(name, key, usages) {
  if (!key.extractable) {
    throw new TypeError(
      '"privateKey" must be extractable or a Key Pair must be used in this runtime'
    );
  }
  return await subtle(async (c) => {
    const jwk = await c.exportKey("jwk", key);
    return c.importKey(
      "jwk",
      { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y },
      key.algorithm,
      true,
      usages
    );
  }, name);
}
async function getPublicKey(name, key, usages) {
  return await subtle((c) => c.getPublicKey?.(key, usages), name) || await getPublicKeyByExport(name, key, usages);
}
function fromBase64(input) {
  input = input.replace(/-/g, "+").replace(/_/g, "/");
  const binary = atob(input);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) {
    bytes[i] = binary.charCodeAt(i);
  }
  return bytes;
}
function b64u(input) {
  return Uint8Array.fromBase64?.(input, { alphabet: "base64url" }) || fromBase64(input);
}
async function DeriveKeyPairBytes(DHKEM, ikm, label, context) {
  if (KDFStages(DHKEM.kdf) === 1) {
    return await LabeledDerive(DHKEM.kdf, DHKEM.suite_id, ikm, label, context, DHKEM.Nsk);
  }
  const dkp_prk = await LabeledExtract(DHKEM.kdf, DHKEM.suite_id, new Uint8Array(), L_dkp_prk, ikm);
  return await LabeledExpand(DHKEM.kdf, DHKEM.suite_id, dkp_prk, label, context, DHKEM.Nsk);
}
function assertKeyAlgorithm(key, expectedAlgorithm) {
  if (key.algorithm.name !== expectedAlgorithm.name) {
    throw new TypeError(`key algorithm must be ${expectedAlgorithm.name}`);
  }
  if (key.algorithm.namedCurve !== expectedAlgorithm.namedCurve) {
    throw new TypeError(
      `key namedCurve must be ${expectedAlgorithm.namedCurve}`
    );
  }
}
function assertCryptoKey(key) {
  if (key[Symbol.toStringTag] !== "CryptoKey") {
    if (key instanceof CryptoKey) return;
    throw new TypeError("unexpected key constructor");
  }
}
async function ExtractAndExpand_OneStage(DHKEM, dh, kem_context) {
  return await LabeledDerive(
    DHKEM.kdf,
    DHKEM.suite_id,
    dh,
    L_shared_secret,
    kem_context,
    DHKEM.Nsecret
  );
}
async function ExtractAndExpand_TwoStage(DHKEM, dh, kem_context) {
  const eae_prk = await LabeledExtract(DHKEM.kdf, DHKEM.suite_id, new Uint8Array(), L_eae_prk, dh);
  return await LabeledExpand(
    DHKEM.kdf,
    DHKEM.suite_id,
    eae_prk,
    L_shared_secret,
    kem_context,
    DHKEM.Nsecret
  );
}
async function ExtractAndExpand(DHKEM, dh, kem_context) {
  const Fn = KDFStages(DHKEM.kdf) === 1 ? ExtractAndExpand_OneStage : ExtractAndExpand_TwoStage;
  return await Fn(DHKEM, dh, kem_context);
}
function DHKEM_SHARED() {
  return {
    async GenerateKeyPair(extractable) {
      return await subtle(
        (c) => c.generateKey(this.algorithm, extractable, ["deriveBits"]),
        this.name
      );
    },
    async SerializePublicKey(key) {
      assertKeyAlgorithm(key, this.algorithm);
      assertCryptoKey(key);
      return new Uint8Array(await subtle((c) => c.exportKey("raw", key), this.name));
    },
    async DeserializePublicKey(key) {
      return await subtle(
        (c) => c.importKey("raw", key, this.algorithm, true, []),
        this.name
      );
    },
    async SerializePrivateKey(key) {
      assertKeyAlgorithm(key, this.algorithm);
      assertCryptoKey(key);
      const { d } = await subtle((c) => c.exportKey("jwk", key), this.name);
      return b64u(d);
    },
    async Encap(pkR) {
      assertKeyAlgorithm(pkR, this.algorithm);
      assertCryptoKey(pkR);
      const ekp = await this.GenerateKeyPair(false);
      const skE = ekp.privateKey;
      const pkE = ekp.publicKey;
      const dh = new Uint8Array(
        await subtle(
          (c) => c.deriveBits({ name: skE.algorithm.name, public: pkR }, skE, this.Ndh << 3),
          this.name
        )
      );
      const enc = await this.SerializePublicKey(pkE);
      const pkRm = await this.SerializePublicKey(pkR);
      const kem_context = concat(enc, pkRm);
      const shared_secret = await ExtractAndExpand(this, dh, kem_context);
      return { shared_secret, enc };
    },
    async Decap(enc, skR, pkR) {
      assertKeyAlgorithm(skR, this.algorithm);
      assertCryptoKey(skR);
      if (pkR) {
        assertKeyAlgorithm(pkR, this.algorithm);
        assertCryptoKey(pkR);
      } else {
        pkR = await getPublicKey(this.name, skR, []);
      }
      const pkE = await this.DeserializePublicKey(enc);
      const dh = new Uint8Array(
        await subtle(
          (c) => c.deriveBits({ name: skR.algorithm.name, public: pkE }, skR, this.Ndh << 3),
          this.name
        )
      );
      const pkRm = await this.SerializePublicKey(pkR);
      const kem_context = concat(enc, pkRm);
      const shared_secret = await ExtractAndExpand(this, dh, kem_context);
      return shared_secret;
    }
  };
}
async function createKeyPairFromPrivateKey(DHKEM, key, extractable) {
  let privateKey;
  let publicKey;
  if (!extractable && typeof crypto.subtle.getPublicKey !== "function") {
    privateKey = await DHKEM.DeserializePrivateKey(key, true);
    publicKey = await getPublicKey(DHKEM.name, privateKey, []);
    privateKey = await DHKEM.DeserializePrivateKey(key, false);
  } else {
    privateKey = await DHKEM.DeserializePrivateKey(key, extractable);
    publicKey = await getPublicKey(DHKEM.name, privateKey, []);
  }
  return { privateKey, publicKey };
}
async function CurveKeyFromD(name, Nsk, template, algorithm, key, extractable) {
  const tmpl = slice(template);
  const pkcs8 = new Uint8Array(Nsk + tmpl.byteLength);
  pkcs8.set(tmpl);
  pkcs8.set(key, tmpl.byteLength);
  return await subtle(
    (c) => c.importKey("pkcs8", pkcs8, algorithm, extractable, ["deriveBits"]),
    name
  );
}
async function DeriveKeyPairX(ikm, extractable) {
  const sk = await DeriveKeyPairBytes(this, ikm, L_sk, new Uint8Array());
  return await createKeyPairFromPrivateKey(this, sk, extractable);
}
var KEM_DHKEM_X25519_HKDF_SHA256 = function() {
  const id = 32;
  const name = "DHKEM(X25519, HKDF-SHA256)";
  const kdf = KDF_HKDF_SHA256();
  kdf.name = name;
  return {
    id,
    suite_id: concat(L_KEM, I2OSP(id, 2)),
    type: "KEM",
    name,
    kdf,
    Nsecret: 32,
    Nenc: 32,
    Npk: 32,
    Nsk: 32,
    Ndh: 32,
    algorithm: { name: "X25519" },
    pkcs8: Uint8Array.of(48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 110, 4, 34, 4, 32),
    DeriveKeyPair: DeriveKeyPairX,
    async DeserializePrivateKey(key, extractable) {
      return await CurveKeyFromD(name, this.Nsk, this.pkcs8, this.algorithm, key, extractable);
    },
    ...DHKEM_SHARED()
  };
};
function AEAD_SHARED(P_MAX) {
  const cache = /* @__PURE__ */ new WeakMap();
  async function importKey(key) {
    return await subtle(
      (c) => c.importKey(this.keyFormat, key, this.algorithm, false, [
        "encrypt",
        "decrypt"
      ]),
      this.name
    );
  }
  return {
    async Seal(key, nonce, aad, pt) {
      if (pt.byteLength > P_MAX) {
        throw new RangeError('"pt" exceeds P_MAX');
      }
      const cryptoKey = await getCachedCryptoKey(cache, key, (bytes) => importKey.call(this, bytes));
      return new Uint8Array(
        await subtle(
          (c) => c.encrypt(
            {
              name: this.algorithm,
              iv: nonce,
              additionalData: aad
            },
            cryptoKey,
            pt
          ),
          this.name
        )
      );
    },
    async Open(key, nonce, aad, ct) {
      const cryptoKey = await getCachedCryptoKey(cache, key, (bytes) => importKey.call(this, bytes));
      return new Uint8Array(
        await subtle(
          (c) => c.decrypt(
            {
              name: this.algorithm,
              iv: nonce,
              additionalData: aad
            },
            cryptoKey,
            ct
          ),
          this.name
        )
      );
    }
  };
}
var AEAD_AES_128_GCM = function() {
  return {
    id: 1,
    type: "AEAD",
    name: "AES-128-GCM",
    Nk: 16,
    Nn: 12,
    Nt: 16,
    algorithm: "AES-GCM",
    keyFormat: "raw",
    ...AEAD_SHARED(AES_GCM_P_MAX)
  };
};
export {
  AEAD_AES_128_GCM,
  CipherSuite,
  KDF_HKDF_SHA256,
  KEM_DHKEM_X25519_HKDF_SHA256
};
