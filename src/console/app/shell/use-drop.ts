import { useSignal } from "@preact/signals";

/** A place that files are dropped on: whether one is over it, and what its element listens to. */
export function useDrop(take: (file: File | undefined) => Promise<void>) {
  const isOver = useSignal(false);
  return {
    isOver: isOver.value,
    listeners: {
      onDragOver: (event: DragEvent) => {
        // A text that is dragged is none of ours.
        if (event.dataTransfer?.types.includes("Files") !== true) return;
        event.preventDefault();
        isOver.value = true;
      },
      onDragLeave: () => {
        isOver.value = false;
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        isOver.value = false;
        void take(event.dataTransfer?.files[0]);
      },
    },
  };
}
