package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionDirectory$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The objects of a plan. Their names and sizes are known, so that nothing is listed and no file is asked for. */
final class ObjectIndex implements FileIndex {
  private static final long BLOCK_BYTES = 128L << 20;

  private static final String OBJECT = "#object"; // what the lake's plan calls it

  private final FileStatus[] files;
  private final String[] objects; // of each file; null: nobody asks for them

  private ObjectIndex(FileStatus[] files, String[] objects) {
    this.files = files;
    this.objects = objects;
  }

  /** The column that tells the data object of each row, if it is asked for: the same for all rows of a file. */
  static StructType partitions(boolean identity) {
    return identity ? new StructType().add(OBJECT, DataTypes.StringType) : new StructType();
  }

  static ObjectIndex of(JsonNode given, boolean identity) {
    FileStatus[] made = new FileStatus[given.size()];
    for (int i = 0; i < made.length; i++) {
      JsonNode each = given.get(i);
      made[i] = new FileStatus(each.get(1).asLong(), false, 1, BLOCK_BYTES, 0, new Path(each.get(0).asText()));
    }
    String[] objects = identity ? new String[made.length] : null;
    for (int i = 0; identity && i < made.length; i++) {
      objects[i] = given.get(i).get(2).asText();
    }
    return new ObjectIndex(made, objects);
  }

  @Override
  public Seq<Path> rootPaths() {
    List<Path> made = new ArrayList<>();
    for (FileStatus each : files) {
      made.add(each.getPath());
    }
    return CollectionConverters.asScala(made).toSeq();
  }

  @Override
  public Seq<PartitionDirectory> listFiles(Seq<Expression> partitions, Seq<Expression> data) {
    List<PartitionDirectory> made = new ArrayList<>();
    for (int i = 0; objects != null && i < files.length; i++) {
      var own = new GenericInternalRow(new Object[] {UTF8String.fromString(objects[i])});
      made.add(PartitionDirectory$.MODULE$.apply(own, new FileStatus[] {files[i]}));
    }
    if (objects == null && files.length > 0) {
      made.add(PartitionDirectory$.MODULE$.apply(InternalRow.empty(), files));
    }
    return CollectionConverters.asScala(made).toSeq();
  }

  @Override
  public String[] inputFiles() {
    String[] made = new String[files.length];
    for (int i = 0; i < made.length; i++) {
      made[i] = files[i].getPath().toString();
    }
    return made;
  }

  @Override
  public void refresh() {}

  @Override
  public long sizeInBytes() {
    long sum = 0;
    for (FileStatus each : files) {
      sum += each.getLen();
    }
    return sum;
  }

  @Override
  public StructType partitionSchema() {
    return partitions(objects != null);
  }
}
