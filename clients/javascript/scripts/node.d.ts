// The parts of Node that the journal uses, for checking types without a further package.
declare const process: {
  platform: string;
  env: Record<string, string | undefined>;
  versions: Record<string, string | undefined>;
};

declare class Buffer extends Uint8Array<ArrayBuffer> {
  static from(content: Uint8Array): Buffer;
  static from(text: string, encoding: "base64"): Buffer;
  toString(encoding?: "base64"): string;
}

declare module "node:fs/promises" {
  interface FileHandle {
    writeFile(text: string): Promise<void>;
    sync(): Promise<void>;
    close(): Promise<void>;
  }
  export function open(path: string, flags: "r" | "wx", mode?: number): Promise<FileHandle>;
  export function readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  export function readdir(path: string): Promise<string[]>;
  export function link(existing: string, path: string): Promise<void>;
  export function rename(old: string, path: string): Promise<void>;
  export function rm(path: string, options: { force: true }): Promise<void>;
  export function mkdir(path: string, options: { recursive: true; mode: number }): Promise<string | undefined>;
  export function stat(path: string): Promise<{ mode: number }>;
}

declare module "node:os" {
  export function homedir(): string;
}

declare module "node:path" {
  export function join(...parts: string[]): string;
  export function dirname(path: string): string;
  export function resolve(path: string): string;
}
