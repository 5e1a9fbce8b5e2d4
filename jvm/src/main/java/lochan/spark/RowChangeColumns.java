package lochan.spark;

import java.io.Serializable;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a statement that changes rows: the values that it writes, and where the identity of a row stands among
 * what Spark hands over. `before` is -1 where the statement only deletes.
 */
record RowChangeColumns(StructType values, int object, int row, int before) implements Serializable {
  private static final StructType CONTROL =
      new StructType()
          .add("#operation", DataTypes.IntegerType)
          .add("#object", DataTypes.StringType)
          .add("#row", DataTypes.LongType)
          .add("#fields", DataTypes.createArrayType(DataTypes.IntegerType));

  static RowChangeColumns of(LogicalWriteInfo info) {
    StructType id = info.rowIdSchema().get();
    int before = info.metadataSchema().map(each -> index(each, MetadataColumns.BEFORE)).orElse(-1);
    StructType values = info.schema() == null ? new StructType() : info.schema();
    return new RowChangeColumns(
        values, id.fieldIndex(MetadataColumns.OBJECT), id.fieldIndex(MetadataColumns.ROW), before);
  }

  /** As Python gets them. */
  StructType written() {
    StructType made = CONTROL;
    for (StructField each : values.fields()) {
      made = made.add(each.name(), each.dataType(), true);
    }
    return made;
  }

  private static int index(StructType schema, String name) {
    return schema.getFieldIndex(name).isEmpty() ? -1 : schema.fieldIndex(name);
  }
}
